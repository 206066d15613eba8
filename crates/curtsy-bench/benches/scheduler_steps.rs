//! Instructions of a thousand decisions of a scheduler over a thousand, a hundred thousand and a
//! million hosts.
//!
//! Time per decision grows with the number of hosts because memory gets slower, whatever is done
//! there; this is what is done.

#![expect(missing_docs, reason = "the macros of gungraun make public items")]

use std::hint::black_box;

use curtsy_bench::host::Around;
use curtsy_bench::scheduler::{HostScheduler, Tour};
use curtsy_core::host::LeaseId;
use gungraun::prelude::*;

const DECISIONS: u64 = 1_000;

struct Fleet {
    around: Around,
    scheduler: HostScheduler,
    tour: Tour,
}

impl Fleet {
    fn over(size: u32) -> Fleet {
        let around = Around::without_robots();
        Fleet { scheduler: HostScheduler::over(size, &around), tour: Tour::new(size), around }
    }
}

#[library_benchmark]
#[bench::thousand(Fleet::over(1_000))]
#[bench::hundred_thousand(Fleet::over(100_000))]
#[bench::million(Fleet::over(1_000_000))]
fn decide_1000(mut fleet: Fleet) -> Fleet {
    for n in 0..DECISIONS {
        let now = fleet.tour.next();
        fleet.scheduler.decide(&fleet.around, now, LeaseId(n));
    }
    black_box(fleet)
}

library_benchmark_group!(name = scheduler, benchmarks = [decide_1000]);
main!(library_benchmark_groups = scheduler);
