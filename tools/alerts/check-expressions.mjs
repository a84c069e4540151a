// @ts-check
import { alertExpressions, dashboardExpressions, selectorsIn } from './rules.mjs';

/** Series that a platform may lack though nothing is wrong, and why. */
export const absentSeries = new Map(Object.entries({}));

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
