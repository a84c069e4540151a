import { type ReceivedResponse, RunningApi } from '../testing/running-api';
import { configTemplates, placeholders } from './config-templates';

describe.each(configTemplates.map((template) => [template.name, template] as const))(
  '%s',
  (_name, template) => {
    it.each([false, true])('has double underscores around placeholders only (security: %s)', (security) => {
      const text = template.text(security);
      const used = [...text.matchAll(/__([A-Z]+)_PATH__/g)].map(([, name]) => name);
      expect(placeholders).toEqual(expect.arrayContaining(used));
      expect(text.replace(/__[A-Z]+_PATH__/g, '')).not.toContain('__');
      expect(used).toEqual(
        expect.arrayContaining(template.name === 'haproxy' ? ['COMBINED'] : ['CHAINED', 'KEY']),
      );
    });

    it('uses neither ROOT nor DHPARAMS, and COMBINED only for HAProxy', () => {
      const optional = /__(COMBINED|ROOT|DHPARAMS)_PATH__/.exec(template.text(true))?.[1];
      expect(optional).toBe(template.name === 'haproxy' ? 'COMBINED' : undefined);
    });

    it('is text that a terminal and every editor shows, and begins the same with security settings', () => {
      const [plain, hardened] = [template.text(false), template.text(true)];
      for (const text of [plain, hardened]) expect(text).toMatch(/^[\t\n\x20-\x7e]+[^\n]\n$/);
      expect(hardened.length).toBeGreaterThan(plain.length);
      expect(plain).not.toMatch(/Strict-Transport-Security|TLSv1|AES/);
    });
  },
);

describe('over HTTP, without credentials,', () => {
  let api: RunningApi;
  beforeAll(async () => {
    api = await RunningApi.start();
  }, 30_000);
  afterAll(async () => await api.stop());

  const get = async (path: string): Promise<ReceivedResponse> =>
    await api.call('GET', `/api/v2/config_templates${path}`);

  it('templates are listed by name', async () => {
    const { status, headers, json } = await get('');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      data: ['apache', 'caddy', 'dovecot', 'haproxy', 'lighttpd', 'nginx', 'node', 'postfix'].map((name) => ({
        name,
      })),
    });
  });

  const nginx = configTemplates.find(({ name }) => name === 'nginx');

  it.each([
    ['', undefined],
    ['?expand=template', nginx?.text(false)],
    ['?expand=template&include_security_settings=1', nginx?.text(true)],
    ['?include_security_settings=true&expand=&expand=template&expand=else', nginx?.text(true)],
    ['?expand=template&include_security_settings=0', nginx?.text(false)],
    ['?include_security_settings=1', undefined],
  ])('nginx%s is served', async (query, template) => {
    const { status, json } = await get(`/nginx${query}`);
    expect([status, json]).toEqual([200, { name: 'nginx', ...(template === undefined ? {} : { template }) }]);
  });

  it.each(['iis', 'NGINX', '__proto__', 'constructor', 'nginx%00', '%ED%A0%80', `${'n'.repeat(255)}`])(
    '%s is none',
    async (name) => {
      const { status, json } = await get(`/${name}?expand=template`);
      expect([
        [404, 'template_not_found'],
        [400, 'bad_request'],
      ]).toContainEqual([status, json.reason]);
    },
  );

  it('a missing parameter is named in the error', async () => {
    expect((await get('/iis')).json).toEqual({
      reason: 'template_not_found',
      param: 'name',
      message: expect.stringContaining('apache, caddy'),
    });
  });

  it.each(['maybe', '', '1&include_security_settings=0'])(
    'include_security_settings=%s is refused',
    async (value) => {
      const { status, json } = await get(`/nginx?include_security_settings=${value}`);
      expect([status, json.reason, json.param]).toEqual([400, 'bad_param', 'include_security_settings']);
    },
  );
});
