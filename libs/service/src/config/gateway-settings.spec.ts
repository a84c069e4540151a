import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, TestRoot } from '@certwright/testing';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { Readiness } from '../operations/readiness';
import {
  followGateway,
  type GatewayConnection,
  gatewayConnection,
  gatewaySettings,
} from './gateway-settings';
import { defineSettings } from './settings';

const { read } = defineSettings(gatewaySettings({ without: 'nothing is integrated' }));

const root = new TestRoot();
afterAll(() => root.dispose());
const client = root.certify({ use: 'clientAuth' });
const whole = {
  GATEWAY_URL: 'https://gateway.test',
  GATEWAY_CA: root.pem,
  GATEWAY_CERTIFICATE: client.certificate,
  GATEWAY_KEY: client.key,
};

describe('the connection to the DNS gateway', () => {
  it('is none unless it is configured', () => {
    expect(gatewayConnection(read({}))).toBeNull();
    expect(gatewayConnection(read({ GATEWAY_URL: '', GATEWAY_CA: '' }))).toBeNull();
  });

  it.each(['GATEWAY_URL', 'GATEWAY_CA', 'GATEWAY_CERTIFICATE', 'GATEWAY_KEY'])(
    'that lacks %s alone is refused in one line',
    (missing) => {
      const other = missing === 'GATEWAY_URL' ? 'GATEWAY_CA' : 'GATEWAY_URL';
      expect(() => gatewayConnection(read({ ...whole, [missing]: '' }))).toThrow(
        new RegExp(`^${missing} \\(or ${missing}_FILE\\) is missing, and ${other} is set: .*all four.*$`),
      );
    },
  );

  it('that is configured incompletely is refused, and the message says what is missing', () => {
    const half = read({ ...whole, GATEWAY_CA: '', GATEWAY_KEY: '' });
    expect(() => gatewayConnection(half)).toThrow(
      /\n {2}GATEWAY_CA \(or GATEWAY_CA_FILE\) is missing, and GATEWAY_URL is set.*\n {2}GATEWAY_KEY \(or GATEWAY_KEY_FILE\) is/,
    );
  });

  it.each<[string, object, RegExp]>([
    [
      'a key of another pair',
      { GATEWAY_KEY: root.certify({ use: 'clientAuth' }).key },
      /^GATEWAY_CERTIFICATE does not belong/,
    ],
    ['no PEM', { GATEWAY_CERTIFICATE: 'planted' }, /^GATEWAY_CERTIFICATE is not a certificate in PEM$/],
    ['no root', { GATEWAY_CA: 'planted' }, /^GATEWAY_CA is not a certificate in PEM$/],
    ['no key', { GATEWAY_KEY: 'planted' }, /^GATEWAY_KEY is not a private key in PEM/],
    [
      'an expired certificate',
      settingsOf(root.certify({ use: 'clientAuth', days: -1 })),
      /^GATEWAY_CERTIFICATE expired at 20/,
    ],
    [
      'a server certificate',
      settingsOf(root.certify({ use: 'serverAuth' })),
      /^GATEWAY_CERTIFICATE is not for TLS clients/,
    ],
  ])('with %s is refused in one line', (_what, wrong, message) => {
    expect(() => gatewayConnection(read({ ...whole, ...wrong }))).toThrow(message);
  });

  it('that is configured completely is returned', () => {
    expect(gatewayConnection(read(whole))).toEqual({
      url: 'https://gateway.test',
      ca: root.pem,
      ...client,
    });
  });

  it.each(['http://gateway.test', 'gateway.test'])('is never to %s', (url) => {
    expect(() => read({ ...whole, GATEWAY_URL: url })).toThrow(/GATEWAY_URL is not a URL/);
  });

  it('uses renewed files without a restart, keeps the old ones while they do not match, and fails readiness when they expire', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'gateway-settings-'));
    const files = Object.fromEntries(
      Object.entries(whole)
        .filter(([name]) => name !== 'GATEWAY_URL')
        .map(([name, text]) => {
          writeFileSync(path.join(folder, name), text);
          return [`${name}_FILE`, path.join(folder, name)];
        }),
    );
    const values = read({ ...files, GATEWAY_URL: whole.GATEWAY_URL });
    const first = gatewayConnection(values);
    if (first === null) throw new Error('no connection');
    const lines: string[] = [];
    const closes: (() => unknown)[] = [];
    const running = {
      log: createLogger('spec', 'info', { write: (line) => void lines.push(line) }),
      metrics: new Metrics('spec'),
      readiness: new Readiness({ reuseMs: 0 }),
      opened: (_name: string, close: () => unknown) => void closes.push(close),
    };
    running.readiness.started();
    const used: string[] = [];
    const use = ({ certificate }: GatewayConnection) => void used.push(certificate);
    followGateway(values, first, running, { use, isRequired: true, everyMs: 5 });
    expect(await running.readiness.report()).toMatchObject({ ready: true });

    const renewed = root.certify({ use: 'clientAuth' });
    writeFileSync(path.join(folder, 'GATEWAY_CERTIFICATE'), renewed.certificate);
    await eventually(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatch(/GATEWAY_CERTIFICATE does not belong to the key in GATEWAY_KEY/);
    expect(used).toEqual([]);
    writeFileSync(path.join(folder, 'GATEWAY_KEY'), renewed.key);
    await eventually(() => expect(used.map((pem) => pem.trim())).toEqual([renewed.certificate.trim()]));
    expect(await running.metrics.render()).toContain('certwright_tls_certificate_expires_seconds{setting=');

    jest.useFakeTimers({
      doNotFake: ['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'performance'],
    });
    jest.setSystemTime(Date.now() + 6 * 86_400_000);
    expect(await running.readiness.report()).toMatchObject({
      ready: false,
      checks: { 'gateway certificate': 'failed' },
    });
    jest.useRealTimers();
    for (const close of closes) await close();
    rmSync(folder, { recursive: true });
  });
});

function settingsOf({ key, certificate }: { key: string; certificate: string }) {
  return { GATEWAY_KEY: key, GATEWAY_CERTIFICATE: certificate };
}
