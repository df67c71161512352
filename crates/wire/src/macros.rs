//! Expansion of the codes in `schema/protocol.toml`: [`codes.rs`](crate::codes) contains only their lists.

macro_rules! codes {
    (
        $(#[$doc:meta])*
        $name:ident: $repr:ty, else $status:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($repr)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code on the wire.
            #[inline]
            pub const fn code(self) -> $repr {
                self as $repr
            }

            /// The name in the protocol.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl TryFrom<$repr> for $name {
            type Error = $crate::Status;

            /// The value of a code, or the status that refuses a frame with it.
            #[inline]
            fn try_from(code: $repr) -> Result<Self, $crate::Status> {
                match code {
                    $($code => Ok(Self::$variant),)*
                    _ => Err($crate::Status::$status),
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

macro_rules! statuses {
    ($($code:literal $name:ident $wire:literal $advice:literal;)*) => {
        /// The outcome of an operation or of a frame.
        ///
        /// Codes 1 to 15 depend on the ledger's state and are journalled; those from 16 on leave no trace. Its
        /// `Display` is a sentence with what happened and what to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Status {
            $(
                #[doc = concat!("`", $wire, "`: ", $advice, ".")]
                $name = $code,
            )*
        }

        impl Status {
            /// All statuses, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in the protocol, such as `INSUFFICIENT_BALANCE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $wire,)*
                }
            }

            /// What happened and what to do about it, as a sentence without the full stop.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$name => $advice,)*
                }
            }
        }

        impl TryFrom<u16> for Status {
            type Error = $crate::UnknownStatus;

            #[inline]
            fn try_from(code: u16) -> Result<Self, $crate::UnknownStatus> {
                match code {
                    $($code => Ok(Self::$name),)*
                    _ => Err($crate::UnknownStatus(code)),
                }
            }
        }
    };
}

pub(crate) use codes;
pub(crate) use statuses;
