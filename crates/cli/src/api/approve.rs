//! `api approve`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::BlockingApiClient;

use super::table::Table;
use super::{Answer, OutputArgs, named, text};

/// Approve a pending revision of an assessment
#[derive(Debug, Args)]
#[command(
    after_help = "It is sent only once: after an error that isn't a refusal, check the revision \
        before you approve again."
)]
pub(crate) struct ApproveArgs {
    /// The revision's identifier
    revision_id: String,
    /// The reviewer's note
    #[arg(long, value_name = "TEXT", value_parser = crate::options::text)]
    note: Option<String>,
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(args: &ApproveArgs, api: &BlockingApiClient) -> Result<Answer, Error> {
    let revision = api.approve(&args.revision_id, args.note.as_deref())?;
    let reviewer = revision.reviewer.as_deref();
    let table = Table::of_fields([
        ("Revision", text(revision.id.as_ref())),
        ("Assessment", text(revision.assessment_id.as_ref())),
        ("Status", text(revision.approval_status.as_ref())),
        ("Reviewed", text(revision.reviewed_at.as_ref())),
        ("Reviewer", text(reviewer.and_then(|user| user.email.as_ref().or(user.id.as_ref())))),
        ("Note", text(revision.review_note.as_ref())),
    ]);
    Ok(Answer { tables: vec![table], json: named("result", &revision)? })
}
