//! Revisions of assessments (interface 2.13).

use super::User;
use super::resource::{open_enum, resource};

open_enum! {
    /// True if an assessment's revision was approved (interface 2.13).
    AssessmentApprovalStatus {
        /// the default
        Unspecified = "ASSESSMENT_APPROVAL_STATUS_UNSPECIFIED",
    }
}

resource! {
    /// An assessment as it was at one revision, with who wrote and who reviewed it
    /// (interface 2.13).
    AssessmentRevision {
        /// identifier
        id: text,
        /// the assessment's identifier
        assessment_id: text,
        /// the identifier of the project's version that it is about
        project_version_id: text,
        /// its number
        revision: int,
        /// what its author notes
        note: text,
        /// what its reviewer notes
        review_note: text,
        /// why, an enumeration without documented values
        justification_code: text,
        /// what it covers, an enumeration without documented values
        scope: text,
        /// what it says, an enumeration without documented values
        status: text,
        /// whether it was approved
        approval_status: (AssessmentApprovalStatus),
        /// when it was made
        created_at: time,
        /// when it was reviewed
        reviewed_at: time,
        /// who reviewed it
        reviewer: {User},
        /// who made it
        created_by: {AssessmentCreator},
        /// the products that it is about
        products: [AssessmentProduct],
        /// how sure its author is
        confidence_score: number,
        /// whether the finding can be mended automatically
        auto_remediable: flag,
        /// what the confidence consists of
        confidence_breakdown: {ConfidenceBreakdown},
    }
}

open_enum! {
    /// What made an assessment's revision (interface 2.13).
    AssessmentCreatorType {
        /// the default
        Unspecified = "ASSESSMENT_CREATOR_TYPE_UNSPECIFIED",
    }
}

resource! {
    /// Who made an assessment's revision (interface 2.13).
    AssessmentCreator {
        /// what it is
        kind = "type": (AssessmentCreatorType),
        /// the person
        user: {User},
        /// the API token
        api_token: {ApiTokenReference},
        /// the AI agent
        ai_agent: {AiAgent},
    }
}

resource! {
    /// An API token by its identifier; never the token (interface 2.13).
    ApiTokenReference {
        /// identifier
        id: text,
    }
}

resource! {
    /// An AI agent (interface 2.13).
    AiAgent {
        /// name
        name: text,
    }
}

resource! {
    /// A product that an assessment is about (interface 2.13).
    AssessmentProduct {
        /// a glob over package URLs
        purl_glob: text,
    }
}

resource! {
    /// What a confidence score consists of (interface 2.13).
    ConfidenceBreakdown {
        /// the version of this form
        schema_version: text,
        /// the score on each axis, by the axis' key
        scores: {map ConfidenceScore},
        /// what follows from the scores
        derived: {ConfidenceDerived},
    }
}

resource! {
    /// The score on one axis (interface 2.13).
    ConfidenceScore {
        /// why
        reason: text,
        /// whether there is none
        abstained: flag,
        /// the score
        value: number,
    }
}

resource! {
    /// What follows from the scores of all axes (interface 2.13).
    ConfidenceDerived {
        /// the score over all
        rollup: number,
        /// how many axes count
        rollup_active_axes: int,
        /// the axis that lowers it most
        dominant_low_axis: {ConfidenceAxis},
    }
}

resource! {
    /// An axis with its score (interface 2.13).
    ConfidenceAxis {
        /// the axis' key
        axis: text,
        /// why
        reason: text,
        /// the score
        value: number,
    }
}
