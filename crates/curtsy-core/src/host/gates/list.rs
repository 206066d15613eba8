//! Generates the names, the reasons and the calls over all gates from the list of gates.

/// Makes [`Gate`], [`Reason`] and the calls over all gates. The order of the list is the order of
/// findings in rows. Stored bytes depend on it, so new gates are added at the end.
macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident: $gate:ty, $reason:ty;)*) => {
        /// The checks before a request, in the order in which findings are stored.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[repr(u8)]
        pub enum Gate {
            $($(#[$doc])* $name,)*
        }

        impl Gate {
            /// All gates, in the order in which findings are stored.
            pub const ALL: [Gate; [$(Gate::$name),*].len()] = [$(Gate::$name),*];

            /// Returns the gate's name in settings, columns, JSON and metrics.
            pub fn name(self) -> &'static str {
                match self {
                    $(Gate::$name => <$gate as GateCheck>::NAME,)*
                }
            }

            /// Returns the sentence for a gate without a finding.
            pub(crate) fn clear(self) -> &'static str {
                match self {
                    $(Gate::$name => <$gate as GateCheck>::CLEAR,)*
                }
            }
        }

        /// The reason of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Reason {
            /// No objection.
            Clear,
            $($(#[$doc])* $name($reason),)*
        }

        $(impl From<$reason> for Reason {
            fn from(reason: $reason) -> Reason {
                Reason::$name(reason)
            }
        })*

        impl Reason {
            /// Returns the reason as a sentence, or `None` for [`Reason::Clear`].
            pub(crate) fn sentence(&self, verdict: Verdict, names: &SentenceContext<'_>) -> Option<String> {
                let telling = Telling { verdict, names };
                match *self {
                    Reason::Clear => None,
                    $(Reason::$name(reason) => {
                        Some(<$gate as GateCheck>::sentence(reason, &telling))
                    })*
                }
            }

            /// Writes the numbers of the reason, and returns its tag.
            pub(crate) fn write(&self, out: &mut FindingsWriter) -> u8 {
                match *self {
                    Reason::Clear => 0,
                    $(Reason::$name(reason) => reason.write(out),)*
                }
            }

            /// Reads the reason of a tag. Returns `None` for an unknown tag or damaged numbers.
            pub(crate) fn read(tag: u8, input: &mut FindingsReader<'_>) -> Option<Reason> {
                if tag == 0 {
                    return Some(Reason::Clear);
                }
                $(if let Some(reason) = <$reason as Tagged>::read(tag, input) {
                    return Some(reason.into());
                })*
                None
            }

            /// Returns the gate of the reason.
            pub fn gate(&self) -> Option<Gate> {
                match self {
                    Reason::Clear => None,
                    $(Reason::$name(_) => Some(Gate::$name),)*
                }
            }
        }

        impl Findings {
            /// Returns every gate's finding about the URL itself.
            pub(super) fn of_url(case: &GateCase<'_>) -> Findings {
                Findings([$(<$gate as GateCheck>::of_url(case)),*])
            }

            /// Adds every gate's finding about the request that the URL needs.
            pub(super) fn add_request(&mut self, case: &GateCase<'_>, errand: &Errand) {
                $(if let Some(finding) = <$gate as GateCheck>::of_request(case, errand) {
                    self.set(Gate::$name, finding);
                })*
            }
        }

        impl HostState {
            /// Returns the earliest moment at which any request to the host can start.
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

            /// Merges what a worker remembers: everything that lengthens a wait, robots.txt, and
            /// the leases that have not expired. Some of these requests may have ended, but nobody
            /// can know.
            pub fn restore(&mut self, remembered: &HostState, now: Time) {
                $(<$gate as GateCheck>::restore(self, remembered, now);)*
            }
        }
    };
}
