// How many checks per second the endpoints of all accounts need, by the schedule of monitoring-worker.
import { loaded } from '../ct/real-entries.mjs';

const endpoints = 100_000;
const dayMs = 86_400_000;
const minuteMs = 60_000;
const days = 2;
/** Share of the checks that find something new or that something is gone: about one endpoint in fifty a day. */
const changing = 0.005;

/** Deterministic, so that runs can be compared: mulberry32. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @returns checks per second: mean, and in the busiest minute */
export async function simulatedSchedule() {
  const { schedule, checks, config } = await loaded({
    schedule: 'apps/monitoring-worker/src/endpoints/schedule.ts',
    checks: 'libs/endpoint-checks/src/index.ts',
    config: 'apps/monitoring-worker/src/config.ts',
  });
  const { ENDPOINT_CHECK_EVERY, ENDPOINT_CONFIRM_EVERY } = config.settings.table;
  const intervals = {
    ENDPOINT_CHECK_EVERY: ENDPOINT_CHECK_EVERY.default,
    ENDPOINT_CONFIRM_EVERY: ENDPOINT_CONFIRM_EVERY.default,
  };
  const random = randomNumbers(1);
  const minutes = new Array((days * dayMs) / minuteMs).fill(0);
  for (let nth = 0; nth < endpoints; nth += 1) {
    let toConfirm = 0;
    for (let atMs = random() * intervals.ENDPOINT_CHECK_EVERY; atMs < days * dayMs;) {
      minutes[Math.floor(atMs / minuteMs)] += 1;
      if (toConfirm > 0) toConfirm -= 1;
      else if (random() < changing) toConfirm = checks.agreeingChecks - 1;
      const last = { isOpen: toConfirm > 0, goneSince: null, current: [] };
      atMs = schedule.nextCheck(last, new Date(atMs), intervals, random()).getTime();
    }
  }
  const total = minutes.reduce((sum, each) => sum + each, 0);
  const perDay = dayMs / intervals.ENDPOINT_CHECK_EVERY;
  return {
    endpoints,
    mean: (total * 1_000) / (minutes.length * minuteMs),
    max: (Math.max(...minutes) * 1_000) / minuteMs,
    changed: `${(changing * 100 * perDay).toFixed(0)} %`,
  };
}
