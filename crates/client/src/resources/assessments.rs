//! Revisions of assessments (interface 2.13).

use super::User;
use super::resource::{open_enum, resource};

open_enum! {
    /// The approval of an assessment's revision (interface 2.13).
    AssessmentApprovalStatus {
        /// the default
        Unspecified = "ASSESSMENT_APPROVAL_STATUS_UNSPECIFIED",
    }
}

resource! {
    /// An assessment at one revision, with its author and its reviewer (interface 2.13).
    AssessmentRevision {
        /// identifier
        id: text,
        /// the assessment's identifier
        assessment_id: text,
        /// the identifier of the project's version that it is about
        project_version_id: text,
        /// the revision's number
        revision: int,
        /// the author's note
        note: text,
        /// the reviewer's note
        review_note: text,
        /// the reason, an enumeration without documented values
        justification_code: text,
        /// its scope, an enumeration without documented values
        scope: text,
        /// its status, an enumeration without documented values
        status: text,
        /// its approval
        approval_status: (AssessmentApprovalStatus),
        /// the time of its creation
        created_at: time,
        /// the time of its review
        reviewed_at: time,
        /// its reviewer
        reviewer: {User},
        /// its author
        created_by: {AssessmentCreator},
        /// the products that it is about
        products: [AssessmentProduct],
        /// the author's confidence
        confidence_score: number,
        /// `true` if the finding can be fixed automatically
        auto_remediable: flag,
        /// the parts of the confidence score
        confidence_breakdown: {ConfidenceBreakdown},
    }
}

open_enum! {
    /// The kind of author of an assessment's revision (interface 2.13).
    AssessmentCreatorType {
        /// the default
        Unspecified = "ASSESSMENT_CREATOR_TYPE_UNSPECIFIED",
    }
}

resource! {
    /// The author of an assessment's revision (interface 2.13).
    AssessmentCreator {
        /// the kind of author
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
    /// The parts of a confidence score (interface 2.13).
    ConfidenceBreakdown {
        /// the version of this form
        schema_version: text,
        /// the score on each axis, by the axis' key
        scores: {map ConfidenceScore},
        /// results derived from the scores
        derived: {ConfidenceDerived},
    }
}

resource! {
    /// The score on one axis (interface 2.13).
    ConfidenceScore {
        /// the reason
        reason: text,
        /// `true` if there is no score
        abstained: flag,
        /// the score
        value: number,
    }
}

resource! {
    /// Results derived from the scores of all axes (interface 2.13).
    ConfidenceDerived {
        /// the score over all
        rollup: number,
        /// the number of axes that count
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
        /// the reason
        reason: text,
        /// the score
        value: number,
    }
}
