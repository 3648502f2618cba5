//! What people did about requirements: evidence that they gave, and overrides (interface 2.14).

use super::resource::{open_enum, resource};
use super::{Periodicity, User};

resource! {
    /// Evidence that people have to give, and what they gave (interface 2.14).
    ManualEvidenceGroup {
        /// what is asked for
        definition: {ManualEvidence},
        /// what was given
        submissions: [Submission],
        /// when that is too old to count
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
        /// whether it may be missing
        optional: flag,
        /// how often it has to be given
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
        /// where it is
        url: text,
        /// what its giver says
        comment: text,
        /// the identifier of whoever gave it
        user_id: text,
        /// the address of whoever gave it
        user_email: text,
        /// whether it was approved
        approval_status: (ApprovalStatus),
        /// when it was given
        created_at: time,
        /// when it was approved
        approved_at: time,
        /// who gave it
        user: {User},
        /// who approved it
        approved_by: {User},
        /// the file that it is
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
        /// when it was uploaded
        uploaded_at: time,
        /// who uploaded it
        user: {User},
    }
}

resource! {
    /// An outcome set by hand in place of the evaluated one (interface 2.14).
    Override {
        /// identifier
        id: text,
        /// the identifier of the override that it was taken over from
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
        /// why
        justification: text,
        /// whether it was approved, an enumeration without documented values
        approval_status: text,
        /// when it was made
        created_at: time,
        /// when it was approved
        approved_at: time,
        /// who made it
        user: {User},
        /// who approved it
        approved_by: {User},
        /// the evidence for it
        evidence_submissions: [Submission],
    }
}
