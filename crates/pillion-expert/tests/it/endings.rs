//! How consultations end before their time, and what they leave.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::Code;
use pillion_expert::{ConsultationStatus, Error, status};
use pillion_process::{Launch, StreamTarget};
use serde_json::json;

use crate::support::{
    ENDLESS, Lab, Script, Step, calls, is_endless_running, names, says, wait_until,
};

/// Says that this process is to hang in a consultation below the folder that follows.
pub(crate) const HANGING: &str = "hang-in-a-consultation";

pub(crate) async fn a_cancel_ends_the_run_and_leaves_nothing(mut lab: Lab) {
    lab.skill("endless", &[], ENDLESS);
    lab.skill("fine", &[], "def run():\n    return 1");
    // From here on zygote and slots are there, and only the run comes and goes.
    lab.call("fine", json!({})).await;
    let before = lab.folders();
    let model = Arc::new(Script::new([
        calls(&[("endless", json!({}))]),
        says("never"),
    ]));
    let order = lab.order("?");
    let (consultations, asked) = (lab.consultations(), Arc::clone(&model));
    let task = tokio::spawn(async move { Box::pin(consultations.consult(order, &*asked)).await });
    wait_until("the skill runs", is_endless_running).await;
    lab.cancel.cancel();
    let error = task.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    wait_until("the folder is gone", || lab.folders() == before).await;
    assert_eq!(
        model.asked.lock().unwrap().len(),
        1,
        "the model was not asked again"
    );
    wait_until("the skill is gone", || !is_endless_running()).await;
}

pub(crate) async fn a_cancel_ends_the_call_of_the_model(lab: Lab) {
    let model = Arc::new(Script::new([Step::Hangs]));
    let (consultations, order, asked) = (lab.consultations(), lab.order("?"), Arc::clone(&model));
    let task = tokio::spawn(async move { Box::pin(consultations.consult(order, &*asked)).await });
    model.began.notified().await;
    assert_eq!(Arc::strong_count(&model.hanging), 2);
    lab.cancel.cancel();
    let error = task.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    assert_eq!(Arc::strong_count(&model.hanging), 1, "the call was dropped");
    wait_until("the folder is gone", || lab.folders().is_empty()).await;
    // One that was cancelled before it began does nothing at all.
    let error = lab.consult(&Script::new([says("x")])).await.unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    wait_until("the folder is gone", || lab.folders().is_empty()).await;
}

pub(crate) async fn a_dropped_consultation_leaves_nothing(mut lab: Lab) {
    lab.skill("endless", &[], ENDLESS);
    let model = Script::new([calls(&[("endless", json!({}))]), says("never")]);
    let consultations = lab.consultations();
    let mut consulting = Box::pin(consultations.consult(lab.order("?"), &model));
    tokio::select! {
        done = &mut consulting => panic!("{done:?}"),
        () = wait_until("the skill runs", is_endless_running) => {}
    }
    assert_eq!(lab.folders().len(), 1);
    drop(consulting);
    wait_until("the skill is gone", || !is_endless_running()).await;
    wait_until("the folder is gone", || lab.folders().is_empty()).await;
    let done = lab.consult(&Script::new([says("Next.")])).await.unwrap();
    assert_eq!(done.consultation_id, "consult_0001");
}

pub(crate) async fn the_time_of_all_is_limited_and_the_log_stays(mut lab: Lab) {
    lab.skill("endless", &[], ENDLESS);
    lab.limits.whole = Duration::from_secs(6);
    let model = Script::new([Step::Hangs]);
    let error = lab.consult(&model).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { seconds: 6 }), "{error}");
    assert_eq!(Arc::strong_count(&model.hanging), 1, "the call was dropped");
    let result = lab.result("consult_0001");
    assert_eq!(
        (&result["status"], &result["outcome"]),
        (&json!("failed"), &json!("timeout"))
    );
    assert!(!lab.folder("consult_0001").join("report.md").exists());
    // A run that goes on for too long ends with all of it, too.
    let model = Script::new([calls(&[("endless", json!({}))]), Step::Hangs]);
    let error = lab.consult(&model).await.unwrap_err();
    assert_eq!(error.code(), Code::Timeout);
    wait_until("the skill is gone", || !is_endless_running()).await;
}

pub(crate) async fn a_model_that_fails_is_an_error_value(lab: Lab) {
    let error = lab.consult(&Script::new([Step::Fails])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the expert's model gave no answer: the endpoint is overloaded"
    );
    assert_eq!(error.hint().as_deref(), Some("wait"));
    let workspace = lab.path("expert_workspace");
    assert_eq!(
        status(&workspace, "consult_0001"),
        Some(ConsultationStatus::Failed)
    );
    let transcript = lab.transcript("consult_0001");
    assert_eq!(transcript[0]["error"], "the endpoint is overloaded");
}

/// For the process that is killed: hang in a consultation.
pub(crate) fn hang(base: &str) -> ! {
    crate::support::run_in(Path::new(base), |lab| {
        Box::pin(async move {
            let model = Script::new([Step::Hangs]);
            let _ = lab.consult(&model).await;
        })
    });
    std::process::exit(0)
}

pub(crate) async fn a_killed_process_leaves_a_folder_that_says_lost(lab: Lab) {
    let base = lab.path("");
    let child = Launch::new(std::env::current_exe().unwrap())
        .arg(HANGING)
        .arg(&base)
        .stdin(StreamTarget::Null)
        .spawn()
        .unwrap();
    let letter = lab.folder("consult_0001").join("letter.md");
    wait_until("the consultation began", || letter.exists()).await;
    drop(child);
    let workspace = lab.path("expert_workspace");
    assert_eq!(
        status(&workspace, "consult_0001"),
        Some(ConsultationStatus::Lost)
    );
    assert_eq!(lab.result("consult_0001")["outcome"], "lost");
    // The next one goes on beside it, until somebody sweeps it.
    let done = lab.consult(&Script::new([says("Here.")])).await.unwrap();
    assert_eq!(done.consultation_id, "consult_0002");
    assert_eq!(
        status(&workspace, "consult_0002"),
        Some(ConsultationStatus::Complete)
    );
    assert_eq!(
        pillion_expert::sweep(&workspace, 2),
        0,
        "turn 1 was committed"
    );
    assert_eq!(pillion_expert::sweep(&workspace, 1), 2);
    assert!(lab.folders().is_empty());
}

pub(crate) async fn a_lane_that_cannot_be_had_is_a_clear_error(mut lab: Lab) {
    lab.skill("fine", &[], "def run():\n    return 1");
    let model = Script::new([calls(&[("fine", json!({}))]), says("never")]);
    let mut order = lab.order("?");
    order.whereabouts.python = Some(lab.path("no/python"));
    let error = Box::pin(lab.consultations().consult(order, &model))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Lane { .. }), "{error}");
    assert!(
        error.to_string().contains("`tester`") && error.hint().is_some(),
        "{error}"
    );
    assert_eq!(lab.result("consult_0001")["status"], "failed");
}

pub(crate) async fn a_lane_that_cannot_be_enforced_is_refused(mut lab: Lab) {
    if std::env::var("PILLION_LANES_LEVEL").as_deref() != Ok("L1") {
        // The walls of a process are known from its start, so another one tries this.
        let mut child = Launch::new(std::env::current_exe().unwrap())
            .arg("endings::a_lane_that_cannot_be_enforced_is_refused")
            .arg("--exact")
            .env("PILLION_LANES_LEVEL", "L1")
            .stderr(StreamTarget::Inherit)
            .spawn()
            .unwrap();
        let exit = child.wait().await;
        assert!(exit.success(), "{exit:?}");
        return;
    }
    lab.skill("fine", &[], "def run():\n    return 1");
    let model = Script::new([calls(&[("fine", json!({}))]), says("never")]);
    let error = lab.consult(&model).await.unwrap_err();
    assert_eq!(error.code(), Code::StartFailed);
    let said = error.to_string();
    assert!(
        said.contains("the expert lane cannot be enforced"),
        "{said}"
    );
    assert!(error.hint().unwrap().contains("pillion lanes"));
    assert_eq!(
        model.asked.lock().unwrap().len(),
        1,
        "nobody is told to go on"
    );
}

pub(crate) async fn the_wrong_or_a_broken_expert_is_named(mut lab: Lab) {
    let mut order = lab.order("?");
    order.request.expert_id = "other".to_owned();
    let model = Script::new([says("never")]);
    let error = Box::pin(lab.consultations().consult(order, &model))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`other`"), "{error}");
    assert!(lab.folders().is_empty());
    lab.skill("fine", &[], "def run():\n    return 1");
    fs::remove_file(lab.path("expert/skills/fine.py")).unwrap();
    let error = lab.consult(&model).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidConfig);
    assert!(error.to_string().contains("`fine`"), "{error}");
    assert_eq!(lab.result("consult_0001")["outcome"], "invalid_config");
    assert!(model.asked.lock().unwrap().is_empty());
}

pub(crate) async fn consultations_at_the_same_time_have_their_own_folders(mut lab: Lab) {
    lab.skill(
        "fine",
        &[],
        "def run(n):\n    open('outputs/n', 'w').write(str(n))\n    return n",
    );
    let lab = Arc::new(lab);
    let tasks: Vec<_> = (0..4)
        .map(|number| {
            let lab = Arc::clone(&lab);
            tokio::spawn(async move {
                let said = says(&format!("Number {number}."));
                let model = Script::new([calls(&[("fine", json!({"n": number}))]), said]);
                (number, lab.consult(&model).await.unwrap())
            })
        })
        .collect();
    for task in tasks {
        let (number, done) = task.await.unwrap();
        let kept = fs::read_to_string(lab.folder(&done.consultation_id).join("n")).unwrap();
        assert_eq!(kept, number.to_string());
        assert_eq!(done.summary, format!("Number {number}."));
    }
    let all = [
        "consult_0001",
        "consult_0002",
        "consult_0003",
        "consult_0004",
    ];
    assert_eq!(names(&lab.path("expert_workspace/consultations")), all);
}
