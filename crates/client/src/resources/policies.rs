//! Results of policies about requirements (interface 2.14).

use super::resource::{open_enum, resource};

resource! {
    /// A policy and its evaluations (interface 2.14).
    PolicyResult {
        /// the policy
        definition: {PolicyDefinition},
        /// its evaluations
        evaluations: [PolicyEvaluation],
        /// the period after which it is too old to count
        expiration: {Periodicity},
    }
}

resource! {
    /// A policy as a requirement names it (interface 2.14).
    PolicyDefinition {
        /// the policy's identifier
        policy_id: text,
        /// name
        name: text,
        /// the group that it comes from
        group: text,
        /// `true` if it comes with the platform
        policy_built_in: flag,
        /// the interval at which it has to be evaluated
        periodicity: {Periodicity},
        /// the time for which it may fail
        sla: {Sla},
        /// its parameters
        parameters: texts,
    }
}

open_enum! {
    /// The result of a policy's evaluation (interface 2.14).
    PolicyEvaluationStatus {
        /// the default
        Unknown = "UNKNOWN",
    }
}

resource! {
    /// One evaluation of a policy (interface 2.14).
    PolicyEvaluation {
        /// identifier
        policy_evaluation_id: text,
        /// the policy's identifier
        policy_id: text,
        /// the identifier of the policy's version
        policy_version_id: text,
        /// the policy's name
        name: text,
        /// the name of the workflow that evaluated it
        workflow_name: text,
        /// the identifier of the workflow's run
        workflow_run_id: text,
        /// the name of the material that it was evaluated on
        material_name: text,
        /// the name of the organization that owns the policy
        policy_organization_name: text,
        /// `true` if the policy comes with the platform
        policy_built_in: flag,
        /// the time of the evaluation
        created_at: time,
        /// the time by which it has to pass
        sla_due_date: time,
        /// the time since which it fails
        failing_since: time,
        /// the time for which it may fail
        sla: {Sla},
        /// the interval at which it has to be evaluated
        periodicity: {Periodicity},
        /// the outcome
        status: (PolicyEvaluationStatus),
    }
}

resource! {
    /// The time for which something may fail (interface 2.14).
    Sla {
        /// in hours
        hours: count,
        /// the time by which it has to pass
        due_date: time,
        /// the time since which it fails
        failing_since: time,
    }
}

open_enum! {
    /// A length of time after which something has to be done again (interface 2.14).
    Interval {
        /// the value shown
        UnknownPeriod = "unknown_period",
    }
}

resource! {
    /// The interval at which something has to be done (interface 2.14).
    Periodicity {
        /// the interval
        interval: (Interval),
        /// the time at which it has to be done again
        expires_at: time,
    }
}

resource! {
    /// A test that is too old to count (interface 2.14).
    ExpiredTest {
        /// the test's name
        test_name: text,
        /// the time at which it expired
        expires_at: time,
    }
}
