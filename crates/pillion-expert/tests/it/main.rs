//! Consultations whose skills run in the real expert lane, in a real Python.
//!
//! Code of others is confined by this same executable, which is started again as a box and as a
//! guard. That has to be the first thing in `main`, so this program has its own instead of the
//! usual harness; it says what it did in the usual words.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by a panic, and tells by printing"
)]

mod attacks;
mod endings;
mod inspector;
mod loops;
mod support;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use support::{Future, Lab};

/// A test: its name, and what it does in a lab of its own.
type Test = (&'static str, fn(Lab) -> Future);

macro_rules! tests {
    ($($module:ident: $($name:ident),+ $(,)?;)+) => {
        &[$($((
            concat!(stringify!($module), "::", stringify!($name)),
            (|lab| Box::pin($module::$name(lab))) as fn(Lab) -> Future,
        ),)+)+]
    };
}

const TESTS: &[Test] = tests! {
    inspector:
        a_csv_is_inspected_and_plotted,
        the_offline_path_gives_a_report_without_a_model_that_calls,
        the_offline_model_words_what_was_found,
        a_model_asks_for_the_file_and_the_rows_it_wants,
        other_formats_and_odd_files_are_told_apart,
        the_newest_upload_is_meant_unless_the_question_names_one,
    ;
    loops:
        results_go_back_to_the_model_and_the_report_is_kept,
        what_is_not_declared_is_refused_and_told,
        a_failing_skill_is_told_and_the_consultation_goes_on,
        rounds_and_calls_have_an_end,
        an_expert_without_python_just_answers,
        tools_of_the_host_are_those_that_the_page_names,
        files_of_skills_are_kept_under_safe_names_and_within_limits,
    ;
    attacks:
        nothing_outside_is_read_or_written_or_reached,
        a_link_in_the_workspace_leads_nowhere,
        endless_large_and_many_are_ended_and_told,
        odd_values_and_names_do_no_harm,
    ;
    endings:
        a_cancel_ends_the_run_and_leaves_nothing,
        a_cancel_ends_the_call_of_the_model,
        a_dropped_consultation_leaves_nothing,
        the_time_of_all_is_limited_and_the_log_stays,
        a_model_that_fails_is_an_error_value,
        a_killed_process_leaves_a_folder_that_says_lost,
        a_lane_that_cannot_be_had_is_a_clear_error,
        a_lane_that_cannot_be_enforced_is_refused,
        the_wrong_or_a_broken_expert_is_named,
        consultations_at_the_same_time_have_their_own_folders,
    ;
};

fn main() -> std::process::ExitCode {
    pillion_sandbox::init();
    pillion_process::guard::init();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == endings::HANGING) {
        endings::hang(&args[1]);
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_exact = args.iter().any(|arg| arg == "--exact");
    let is_wanted = |name: &str| match is_exact {
        true => wanted.iter().any(|part| name == *part),
        false => wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())),
    };
    let tests: Vec<&Test> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    if args.iter().any(|arg| arg == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return std::process::ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", tests.len());
    let began = Instant::now();
    let mut failed = Vec::new();
    for (name, test) in &tests {
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| support::run(*test)));
        let word = if done.is_ok() { "ok" } else { "FAILED" };
        println!("test {name} ... {word}");
        if done.is_err() {
            failed.push(*name);
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    println!(
        "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; \
         finished in {:.2}s\n",
        tests.len() - failed.len(),
        failed.len(),
        TESTS.len() - tests.len(),
        began.elapsed().as_secs_f64(),
    );
    match failed.is_empty() {
        true => std::process::ExitCode::SUCCESS,
        false => std::process::ExitCode::FAILURE,
    }
}
