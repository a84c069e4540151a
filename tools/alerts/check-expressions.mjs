// @ts-check
import { alertExpressions, dashboardExpressions, selectorsIn } from './rules.mjs';

/** Reason → series that a sandbox may lack though nothing is wrong. */
const mayBeAbsent = {
  'counted from the first failure of its kind': [
    'certwright_issuance_failures_total',
    'certwright_issuance_failures_total{final="true"}',
    'certwright_hosted_challenge_failures_total',
    'certwright_gateway_faults_total',
    'certwright_gateway_faults_total{code!~"provider_auth_failed|provider_rejected"}',
    'certwright_ct_log_failures_total',
    'certwright_ct_log_misbehaviours_total',
    'certwright_ct_log_unproven_heads_total',
    'certwright_mail_tries_total{outcome=~"retried|failed"}',
    'dns_questions_total{rcode="servfail"}',
    'http_requests_total{process=~"orders-v3|certs-v2|ct-search|monitoring", status=~"5.."}',
    'certwright_endpoint_checks_total{outcome="unanswered"}',
  ],
  'only networks over the limit are counted': ['dns_limited_total', 'dns_limited_total{as="drop"}'],
  'a sandbox issues with the built-in CA, and has no CA over ACME': [
    'certwright_authority_down',
    'certwright_acme_exchanges_total',
    'certwright_acme_exchanges_total{outcome!~"[234].."}',
    'certwright_acme_exchange_seconds_bucket',
    'certwright_preflight_total',
  ],
  'no account monitors a domain': [
    'certwright_monitoring_findings_total',
    'certwright_endpoint_checks_total',
    'certwright_endpoint_reports_total',
  ],
  'traces are off by default': [
    'certwright_trace_spans_exported_total',
    'certwright_trace_spans_dropped_total',
  ],
  'of the kubelet, which exists on Kubernetes only': [
    'kubelet_volume_stats_available_bytes{namespace=~"certwright.*"}',
    'kubelet_volume_stats_capacity_bytes{namespace=~"certwright.*"}',
  ],
};

/** Series → reason. */
export const absentSeries = new Map(
  Object.entries(mayBeAbsent).flatMap(([reason, series]) => series.map((each) => [each, reason])),
);

/**
 * Queries every expression of the dashboards and alerts, and every series that they read.
 * @param {Pick<import('./prometheus.mjs').Prometheus, 'query'>} prometheus
 * @returns {Promise<readonly string[]>} what is wrong; empty: nothing
 */
export async function expressionErrors({ query }) {
  /** @type {Map<string, Promise<boolean>>} */
  const known = new Map();
  const hasSeries = async (/** @type {string} */ selector) => {
    const found = known.get(selector) ?? query(selector).then((samples) => samples.length > 0);
    known.set(selector, found);
    return await found;
  };
  const dashboards = dashboardExpressions().map((each) => ({ ...each, isShown: true }));
  const alerts = alertExpressions().map((each) => ({ ...each, isShown: false }));
  /** @type {string[]} */
  const errors = [];
  for (const { where, expression, isShown } of [...dashboards, ...alerts]) {
    try {
      const selectors = selectorsIn(expression);
      let mayBeEmpty = false;
      for (const selector of selectors) {
        if (absentSeries.has(selector)) mayBeEmpty = true;
        else if (!(await hasSeries(selector))) errors.push(`${where}: no series ${selector}`);
      }
      const samples = await query(expression);
      // The expression of an alert is empty while nothing is wrong.
      if (isShown && !mayBeEmpty && samples.length === 0) errors.push(`${where}: no result: ${expression}`);
    } catch (error) {
      errors.push(`${where}: ${/** @type {Error} */ (error).message}: ${expression}`);
    }
  }
  return errors;
}
