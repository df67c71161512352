//! A rule of the protocol that is left out is found, by the property that needs it.
#![allow(missing_docs)]

use stateright::{Checker as _, HasDiscoveries, Model as _};
use turnpike_fast_path::{Defect, FastPath, Scenario};

/// Explores a scenario until a property is broken, and prints the shortest way there.
fn found(defect: Defect, scenario: Scenario, property: &'static str) {
    let wanted = HasDiscoveries::AnyOf([property].into());
    let checker = FastPath::with_defect(scenario, defect).checker().finish_when(wanted).spawn_bfs().join();
    let Some(path) = checker.discovery(property) else { panic!("{defect:?} does not break \"{property}\"") };
    println!("{defect:?} breaks \"{property}\" in {} states:", checker.unique_state_count());
    path.into_actions().into_iter().for_each(|action| println!("  {action:?}"));
}

/// Account 0 signs two orders of its first slot.
fn equivocation() -> Scenario {
    Scenario::new(&[2, 0, 0], &[(0, 0, 1, 2), (0, 0, 2, 2)])
}

/// Account 1 spends what account 0 pays it.
fn chain() -> Scenario {
    Scenario::new(&[2, 0, 0], &[(0, 0, 1, 2), (1, 0, 2, 2)])
}

const ONE_CERTIFICATE: &str = "a slot has one certificate";
const NONE_LOSES: &str = "no certified order loses";
const INCLUDED: &str = "every certified order can be included";
const NOT_NEGATIVE: &str = "no ordered balance is negative";

#[test]
fn a_vote_before_its_lock_is_synced() {
    found(Defect::VoteBeforeSync, equivocation().with_crashes(1), ONE_CERTIFICATE);
}

#[test]
fn a_report_without_an_unsynced_lock() {
    let scenario = equivocation().with_unlocks(&[(0, 0)]).with_crashes(1);
    found(Defect::ReportBeforeSync, scenario, NONE_LOSES);
}

#[test]
fn a_quorum_that_is_too_small() {
    found(Defect::SmallQuorum, equivocation(), ONE_CERTIFICATE);
}

#[test]
fn a_threshold_of_reports_that_one_honest_report_does_not_reach() {
    let scenario = Scenario::new(&[1, 0], &[(0, 0, 1, 1)]).with_unlocks(&[(0, 0)]);
    found(Defect::ReportsBelowThreshold, scenario, NONE_LOSES);
}

#[test]
fn an_equivocation_decided_by_most_reports() {
    found(Defect::MajorityOfReports, equivocation().with_unlocks(&[(0, 0)]), NONE_LOSES);
}

#[test]
fn an_order_without_a_certificate_that_spends_a_reserve() {
    let orders = [(0, 0, 1, 2), (0, 0, 1, 1), (0, 1, 1, 1)];
    let scenario = Scenario::new(&[2, 0], &orders).with_set_change();
    found(Defect::ReservesSpent, scenario, INCLUDED);
}

#[test]
fn a_vote_after_a_report() {
    found(Defect::VoteAfterReport, equivocation().with_unlocks(&[(0, 0)]), NONE_LOSES);
}

#[test]
fn a_change_of_the_set_that_forgets_certificates() {
    found(Defect::SetChangeSettlesNothing, equivocation().with_set_change(), INCLUDED);
}

#[test]
fn votes_and_certificates_of_an_old_set() {
    found(Defect::OldSetVotes, equivocation().with_set_change(), ONE_CERTIFICATE);
}

#[test]
fn certificates_out_of_causal_order() {
    found(Defect::NoCausalOrder, chain(), NOT_NEGATIVE);
}

#[test]
fn votes_without_a_look_at_the_balance() {
    found(Defect::NoBalanceCheck, Scenario::new(&[1, 0], &[(0, 0, 1, 2)]), INCLUDED);
}
