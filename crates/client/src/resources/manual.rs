//! People's contributions to requirements: the evidence that they gave, and overrides (interface
//! 2.14).

use super::resource::{open_enum, resource};
use super::{Periodicity, User};

resource! {
    /// Evidence that people have to give, and their submissions (interface 2.14).
    ManualEvidenceGroup {
        /// the evidence that is asked for
        definition: {ManualEvidence},
        /// the evidence that was given
        submissions: [Submission],
        /// the period after which it is too old to count
        expiration: {Periodicity},
    }
}

resource! {
    /// Evidence that people have to give (interface 2.14).
    ManualEvidence {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the group that it comes from
        group: text,
        /// `true` if it may be missing
        optional: flag,
        /// the interval at which it has to be given
        periodicity: {Periodicity},
    }
}

open_enum! {
    /// The approval of evidence given by hand (interface 2.14).
    ApprovalStatus {
        /// the default
        Unspecified = "APPROVAL_STATUS_UNSPECIFIED",
    }
}

resource! {
    /// Evidence given by hand (interface 2.14).
    Submission {
        /// identifier
        id: text,
        /// the digest of the attestation that holds it
        attestation_digest: text,
        /// the identifier of the requirement's version
        requirement_version_id: text,
        /// its address
        url: text,
        /// the submitter's comment
        comment: text,
        /// the submitter's identifier
        user_id: text,
        /// the submitter's email address
        user_email: text,
        /// its approval
        approval_status: (ApprovalStatus),
        /// the time of the submission
        created_at: time,
        /// the time of its approval
        approved_at: time,
        /// the submitter
        user: {User},
        /// the approver
        approved_by: {User},
        /// the uploaded file
        file_upload: {FileUpload},
    }
}

resource! {
    /// A file given as evidence (interface 2.14).
    FileUpload {
        /// identifier
        id: text,
        /// the file's name
        file_name: text,
        /// the digest of its content
        digest: text,
        /// its size
        size_bytes: count,
        /// the time of the upload
        uploaded_at: time,
        /// the uploader
        user: {User},
    }
}

resource! {
    /// An outcome set by hand in place of the evaluated one (interface 2.14).
    Override {
        /// identifier
        id: text,
        /// the override it was inherited from
        parent_override_id: text,
        /// the identifier of the requirement's version
        requirement_version_id: text,
        /// the identifier of the product's version
        product_version_id: text,
        /// the identifier of the project's version
        project_version_id: text,
        /// the name of the product that it was taken over from
        source_product_name: text,
        /// the outcome
        override_status: text,
        /// the reason
        justification: text,
        /// its approval, an enumeration without documented values
        approval_status: text,
        /// the time of its creation
        created_at: time,
        /// the time of its approval
        approved_at: time,
        /// its author
        user: {User},
        /// the approver
        approved_by: {User},
        /// the evidence for it
        evidence_submissions: [Submission],
    }
}
