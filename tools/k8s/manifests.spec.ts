import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  connectionsOf,
  isDenied,
  type Manifest,
  probeErrors,
  processesIn,
  secretErrors,
  secretFileName,
  securityErrors,
  settingErrors,
  stopErrors,
} from './policies';
import { settingsOf } from './settings';

const root = path.join(__dirname, '../..');
const overlays = ['sandbox', 'production'] as const;
const routes = [
  ...readFileSync(path.join(root, 'libs/service/src/operations/operations-server.ts'), 'utf8').matchAll(
    /path === '(\/\w+)'/g,
  ),
].map(([, route = '']) => route);

const folder = mkdtempSync(path.join(tmpdir(), 'manifests-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const gatewayKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});
const sealingKey = randomBytes(32).toString('base64');
/** Values of the secrets that have a form. */
const secrets: Readonly<Record<string, string>> = {
  'database-url': 'postgres://certwright:secret@core.example/certwright',
  'ct-database-url': 'postgres://certwright:secret@ct.example/certwright',
  'sealing.keys': sealingKey,
  'ca-account.keys': sealingKey,
  'handle.keys': sealingKey,
  'credentials.key': String(gatewayKey),
};

function withSecretFiles(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => {
      const secret = secretFileName(value);
      if (secret === null) return [name, value];
      const file = path.join(folder, secret);
      writeFileSync(file, secrets[secret] ?? 'a secret');
      return [name, file];
    }),
  );
}

/** In a Node.js process of its own: the types of the objects are ES modules. */
function run(...args: readonly string[]): { readonly status: number | null; readonly stdout: string } {
  const ended = spawnSync(process.execPath, [path.join(__dirname, 'main.mjs'), ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (ended.stderr !== '') throw new Error(ended.stderr);
  return ended;
}

/** null: there is no kubectl. */
function rendered(overlay: string): Manifest[] | null {
  const { status, stdout } = run('render', path.join(root, 'k8s/overlays', overlay));
  return status === 2 ? null : (JSON.parse(stdout) as Manifest[]);
}

function typeErrors(manifests: readonly Manifest[]): string[] {
  const file = path.join(folder, 'manifests.yaml');
  writeFileSync(file, manifests.map((each) => JSON.stringify(each)).join('\n---\n'));
  return run('check', file)
    .stdout.split('\n')
    .filter((line) => line !== '');
}

/** The rows of ARCHITECTURE.md: process, whom it accepts, whom it connects to. */
const table = new Map(
  (readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8').split('\n### Connections\n')[1] ?? '')
    .split(/\n##+ /)[0]
    ?.split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const [name = '', accepts = '', to = ''] = line
        .replaceAll('`', '')
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      const listed = (cell: string) => (cell === 'nothing' ? [] : cell.split(', ').sort());
      return [name, { from: listed(accepts), to: listed(to) }] as const;
    }),
);

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- plants errors that types forbid
type Change = (copy: any) => unknown;

/** With a deep copy of the objects whose names begin so, changed. */
const changed = (manifests: readonly Manifest[], kind: string, name: string, change: Change): Manifest[] =>
  manifests.map((each) => {
    if (each.kind !== kind || !each.metadata.name.startsWith(name)) return each;
    const copy = structuredClone(each);
    change(copy);
    return copy;
  });

const manifests = Object.fromEntries(overlays.map((overlay) => [overlay, rendered(overlay)]));
const isPossible = Object.values(manifests).every((each) => each !== null);
if (!isPossible) {
  console.warn(
    'Skipped: the specs of the Kubernetes manifests need kubectl; run tools/test/peers.sh as root.',
  );
}
(isPossible ? describe : describe.skip)('the Kubernetes manifests', () => {
  const of = (overlay: string): Manifest[] => manifests[overlay] ?? [];

  it('have the keys and types of their APIs, and no others', () => {
    expect(typeErrors(overlays.flatMap(of))).toEqual([]);
  });

  describe.each(overlays)('of %s', (overlay) => {
    it('run every app, and the migration', () => {
      // The agent runs on customers' hosts.
      const apps = readdirSync(path.join(root, 'apps')).filter((app) => app !== 'agent');
      expect(
        processesIn(of(overlay))
          .map(({ name }) => name)
          .sort(),
      ).toEqual([...apps, 'migrate', ...(overlay === 'sandbox' ? ['built-in-ca'] : [])].sort());
    });

    it('give each process settings that it has and accepts, and its secrets in files', () => {
      expect(settingErrors(of(overlay), withSecretFiles)).toEqual([]);
    });

    it('set the mode of the deployment', () => {
      const modes = processesIn(of(overlay)).flatMap(({ name, environment }) =>
        settingsOf[name]?.table['CERTWRIGHT_MODE'] === undefined ? [] : environment['CERTWRIGHT_MODE'],
      );
      expect(new Set(modes)).toEqual(new Set([overlay]));
    });

    it('probe routes and ports that exist', () => {
      expect(probeErrors(of(overlay), routes)).toEqual([]);
    });

    it('run with restricted privileges', () => {
      expect(securityErrors(of(overlay))).toEqual([]);
    });

    it('mount each secret only where it belongs', () => {
      expect(secretErrors(of(overlay))).toEqual([]);
    });

    it('let processes finish, and nodes drain', () => {
      expect(stopErrors(of(overlay))).toEqual([]);
    });

    it('allow the connections of ARCHITECTURE.md, and no others', () => {
      const processes = processesIn(of(overlay)).filter(({ name }) => settingsOf[name] !== undefined);
      const found = processes.map((each) => [each.name, connectionsOf(of(overlay), each)] as const);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(table));
      for (const each of processes) {
        expect(isDenied(of(overlay), each, 'Ingress')).toBe(true);
        expect(isDenied(of(overlay), each, 'Egress')).toBe(true);
      }
    });

    it('let the migration connect to both databases and to nothing else', () => {
      const [migrate] = processesIn(of(overlay)).filter(({ name }) => name === 'migrate');
      if (migrate === undefined) throw new Error('no migration');
      expect(connectionsOf(of(overlay), migrate)).toEqual({ to: ['core', 'ct'], from: [] });
    });

    it('preserve the addresses of the clients of approval-responder, over UDP and TCP', () => {
      const service = of(overlay).find(
        ({ kind, metadata }) => kind === 'Service' && metadata.name === 'approval-responder',
      );
      expect(service?.spec).toMatchObject({
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        ports: expect.arrayContaining([
          expect.objectContaining({ port: 53, protocol: 'UDP' }),
          expect.objectContaining({ port: 53, protocol: 'TCP' }),
        ]) as unknown,
      });
    });

    it('name each copy of dns-gateway in its audit log, on a volume of its own', () => {
      const gateway = processesIn(of(overlay)).find(({ name }) => name === 'dns-gateway');
      expect(gateway?.container.env).toEqual([
        { name: 'AUDIT_INSTANCE', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ]);
      expect(gateway?.namespace).toMatch(/-dns-gateway$/);
      expect(of(overlay).find(({ kind }) => kind === 'StatefulSet')?.spec).toMatchObject({
        volumeClaimTemplates: [{ metadata: { name: 'audit' } }],
      });
    });
  });

  it('scale workers on the age of due work, and never by a sum over copies', () => {
    const scaled = of('production').filter(({ kind }) => kind === 'ScaledObject');
    const queries = JSON.stringify(scaled);
    expect(queries).toContain('max(certwright_issuances_due_age_seconds');
    expect(queries).not.toMatch(/sum\(|cpu/);
  });

  describe('finds', () => {
    const first = () => of('sandbox');

    it('unknown and missing keys, wrong types and values that are out of range', () => {
      const one = (overlay: string, kind: string, change: Change) =>
        changed(of(overlay), kind, 'notifier', change).filter(
          (each) => each.kind === kind && each.metadata.name === 'notifier',
        );
      const planted = [
        ...one('sandbox', 'Deployment', (copy) => (copy.spec.replicaz = 2)),
        ...one('sandbox', 'Deployment', (copy) => (copy.spec.template.spec.containers[0].comand = [])),
        ...one('sandbox', 'Deployment', (copy) => delete copy.spec.selector),
        ...one('sandbox', 'Deployment', (copy) => (copy.spec.replicas = 'two')),
        ...one('production', 'ScaledObject', (copy) => (copy.spec.minReplicas = 2)),
        ...one('production', 'ScaledObject', (copy) => (copy.spec.fallback.replicas = 2.5)),
      ];
      const found = typeErrors(planted);
      expect(found).toHaveLength(planted.length);
      for (const key of ['replicaz', 'comand', 'selector', 'replicas', 'minReplicas', 'fallback'])
        expect(found.join('\n')).toContain(key);
    });

    it.each<[string, string, Record<string, string>]>([
      ['a setting that the process does not read', 'prober', { DATABASE_POOL_SIZE: '5' }],
      ['a secret in the clear', 'prober', { REDIS_URL: 'redis://:secret@redis' }],
      ['a value that the process refuses', 'prober', { PROBE_CONCURRENCY: 'many' }],
      ['settings that are only partly present', 'notifier', { SMTP_PASSWORD_FILE: '' }],
    ])('%s', (_what, name, data) => {
      const planted = changed(first(), 'ConfigMap', `${name}-`, (copy) => Object.assign(copy.data, data));
      expect(settingErrors(planted, withSecretFiles)).not.toEqual([]);
    });

    it('a probe of a route that does not exist', () => {
      const planted = changed(first(), 'Deployment', 'prober', (copy) => {
        copy.spec.template.spec.containers[0].readinessProbe.httpGet.path = '/ready';
      });
      expect(probeErrors(planted, routes)).toHaveLength(1);
    });

    it('a policy that allows more, or less, than the table', () => {
      const prober = (manifests: Manifest[]) => {
        const [found] = processesIn(manifests).filter(({ name }) => name === 'prober');
        return found === undefined ? null : connectionsOf(manifests, found);
      };
      const more = changed(first(), 'NetworkPolicy', 'to-core', (copy) => {
        copy.spec.podSelector.matchExpressions[0].values.push('prober');
      });
      const less = changed(first(), 'NetworkPolicy', 'to-redis', (copy) => {
        copy.spec.podSelector.matchExpressions[0].values.pop();
      });
      expect(prober(more)).not.toEqual(table.get('prober'));
      expect(prober(less)).not.toEqual(table.get('prober'));
      expect(prober(first())).toEqual(table.get('prober'));
    });

    it('privileges, a secret of another process, a short grace period, and a budget that blocks', () => {
      const privileged = changed(first(), 'Deployment', 'prober', (copy) => {
        copy.spec.template.spec.containers[0].securityContext.capabilities.add = ['NET_ADMIN'];
      });
      expect(securityErrors(privileged)).toHaveLength(1);
      const other = changed(first(), 'Deployment', 'prober', (copy) => {
        copy.spec.template.spec.volumes[0].secret.secretName = 'issuance-worker';
      });
      expect(secretErrors(other)).toHaveLength(1);
      const short = changed(first(), 'StatefulSet', 'dns-gateway', (copy) => {
        copy.spec.template.spec.terminationGracePeriodSeconds = 30;
      });
      expect(stopErrors(short)).toHaveLength(1);
      const blocking = changed(first(), 'PodDisruptionBudget', 'prober', (copy) => {
        copy.spec.maxUnavailable = 0;
      });
      expect(stopErrors(blocking)).toHaveLength(1);
    });
  });
});
