//! What follows from the list of gates: their names, their reasons, and the calls over all of them.

/// Makes [`Gate`], [`Reason`] and the calls over all gates from one list. The order of the list is the order of findings in rows; stored
/// bytes count in it, so new gates are added at its end.
macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident: $gate:ty, $reason:ty;)*) => {
        /// The checks before a request, in the order in which findings are kept.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[repr(u8)]
        pub enum Gate {
            $($(#[$doc])* $name,)*
        }

        impl Gate {
            /// All gates, in the order in which findings are kept.
            pub const ALL: [Gate; [$(Gate::$name),*].len()] = [$(Gate::$name),*];

            /// Its name in settings, columns, JSON and metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(Gate::$name => <$gate as GateCheck>::NAME,)*
                }
            }

            /// The sentence for a gate that found nothing to say.
            pub(crate) fn clear(self) -> &'static str {
                match self {
                    $(Gate::$name => <$gate as GateCheck>::CLEAR,)*
                }
            }
        }

        /// Why a gate says what it says.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Reason {
            /// Nothing is against it.
            Clear,
            $($(#[$doc])* $name($reason),)*
        }

        $(impl From<$reason> for Reason {
            fn from(reason: $reason) -> Reason {
                Reason::$name(reason)
            }
        })*

        impl Reason {
            /// The reason in words; none where there is nothing to say.
            pub(crate) fn sentence(&self, verdict: Verdict, names: &SentenceContext<'_>) -> Option<String> {
                let telling = Telling { verdict, names };
                match *self {
                    Reason::Clear => None,
                    $(Reason::$name(reason) => {
                        Some(<$gate as GateCheck>::sentence(reason, &telling))
                    })*
                }
            }

            /// Writes a reason's numbers, and returns its tag.
            pub(crate) fn write(&self, out: &mut FindingsWriter) -> u8 {
                match *self {
                    Reason::Clear => 0,
                    $(Reason::$name(reason) => reason.write(out),)*
                }
            }

            /// Reads the reason of a tag; none if there is no such tag, or its numbers are damaged.
            pub(crate) fn read(tag: u8, input: &mut FindingsReader<'_>) -> Option<Reason> {
                if tag == 0 {
                    return Some(Reason::Clear);
                }
                $(if let Some(reason) = <$reason as Tagged>::read(tag, input) {
                    return Some(reason.into());
                })*
                None
            }

            /// The gate that this reason belongs to.
            pub fn gate(&self) -> Option<Gate> {
                match self {
                    Reason::Clear => None,
                    $(Reason::$name(_) => Some(Gate::$name),)*
                }
            }
        }

        impl Findings {
            /// What every gate finds about the URL itself.
            pub(super) fn of_url(case: &GateCase<'_>) -> Findings {
                Findings([$(<$gate as GateCheck>::of_url(case)),*])
            }

            /// Adds what every gate finds about the request that the URL needs.
            pub(super) fn add_request(&mut self, case: &GateCase<'_>, errand: &Errand) {
                $(if let Some(finding) = <$gate as GateCheck>::of_request(case, errand) {
                    self.set(Gate::$name, finding);
                })*
            }
        }

        impl HostState {
            /// The earliest moment at which any request to this host can start.
            pub fn earliest_start(&self, scene: &Scene<'_>, ends: SlotEnds) -> Time {
                let mut earliest = scene.now;
                $(earliest = earliest.max(<$gate as GateCheck>::earliest(self, scene, ends));)*
                earliest
            }

            pub(super) fn book(&mut self, booking: &Booking<'_>) {
                $(<$gate as GateCheck>::book(self, booking);)*
            }

            pub(super) fn learn(&mut self, heard: &RequestNews<'_>, settled: &mut HostChanges) {
                $(<$gate as GateCheck>::learn(self, heard, settled);)*
            }

            /// Takes over from `remembered` everything that lengthens a wait, its robots.txt, and its leases that have not run out: some
            /// may have ended since, but nobody can know.
            pub fn restore(&mut self, remembered: &HostState, now: Time) {
                $(<$gate as GateCheck>::restore(self, remembered, now);)*
            }
        }
    };
}
