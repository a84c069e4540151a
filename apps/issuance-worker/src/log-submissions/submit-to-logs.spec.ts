import { Metrics, type RunningProcess } from '@certwright/service';
import { type Config, settings } from '../config';
import type { LogSubmissions } from './log-submissions';
import { submitToLogs } from './submit-to-logs';

const running = () => ({ metrics: new Metrics('spec') }) as RunningProcess;
const rounds = (...urls: string[]) =>
  Object.keys(
    submitToLogs(
      { SUBMIT_TO_LOGS: urls, ALLOWED_NETWORKS: [], ACME_USER_AGENT: 'spec' } as unknown as Config,
      running(),
      {} as LogSubmissions,
    ),
  );

describe('the logs that certificates are submitted to', () => {
  it('have a round each, and each log has one name for all spellings of its URL', () => {
    expect(rounds()).toEqual([]);
    expect(
      rounds('http://127.0.0.1:4380/rfc6962/', 'https://LOG.example/2027h1', 'https://log.example/2027h1/'),
    ).toEqual([
      'submissions to http://127.0.0.1:4380/rfc6962/',
      'submissions to https://log.example/2027h1/',
    ]);
  });

  it.each([
    ['ftp://log.example/'],
    ['http://user:password@log.example/'],
    ['https://log.example/?a'],
    ['log.example'],
  ])('are rejected by their setting: %s', (url) =>
    expect(settings.table.SUBMIT_TO_LOGS.read(url)).toHaveProperty('fault'),
  );

  it('are rejected at the start when the setting is ambiguous', () => {
    expect(settings.table.SUBMIT_TO_LOGS.read('http://log.example:99999/')).toHaveProperty('value');
    expect(() => rounds('http://log.example:99999/')).toThrow('SUBMIT_TO_LOGS has an entry that is no URL');
  });
});
