//! Attacks on lanes: programs that try to read, write, reach, outlive, starve or break what
//! they must not. Each runs in both lanes, from a zygote and without, under a daemon of root
//! and of an ordinary user; and with Landlock and the filter alone, where namespaces are
//! forbidden.

mod attacks;
mod bombs;
mod cells;
mod faults;
mod races;
mod sessions;
mod world;
mod zygotes;
