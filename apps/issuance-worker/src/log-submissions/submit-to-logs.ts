import { AddressGuard } from '@certwright/outbound';
import type { LogSubmissions } from './log-submissions';
import { type RoundOfWork, type RunningProcess, SettingsError } from '@certwright/service';
import type { Config } from '../config';
import { observeSubmissions } from './submission-events';
import { submitToLog } from './submit-to-log';

/** A round for each log, so that a slow one does not delay others; none without logs. */
export function submitToLogs(
  { SUBMIT_TO_LOGS, ALLOWED_NETWORKS, ACME_USER_AGENT: userAgent }: Config,
  running: RunningProcess,
  submissions: LogSubmissions,
): Readonly<Record<string, RoundOfWork>> {
  // An invalid URL is reported before the worker counts as started.
  const logUrls = [...new Set(SUBMIT_TO_LOGS.map((url) => logUrl(url)))];
  if (logUrls.length === 0) return {};
  const ports = {
    submissions,
    guard: new AddressGuard({ allowedNetworks: ALLOWED_NETWORKS }),
    logUrls,
    userAgent,
    events: observeSubmissions(running),
  };
  return Object.fromEntries(logUrls.map((url) => [`submissions to ${url}`, submitToLog(ports, url)]));
}

/** @throws SettingsError for an invalid port or host */
function logUrl(text: string): string {
  const url = URL.parse(text.replace(/\/*$/, '/'));
  if (url === null)
    throw new SettingsError([{ name: 'SUBMIT_TO_LOGS', fault: 'has an entry that is no URL' }]);
  return url.href;
}
