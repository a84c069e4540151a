import { createLogger, LinesOfTurn, maskSecrets, nestLogger } from './logger';

const key = '93847561029384_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4';

function logged(write: (log: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  write(createLogger('spec', 'debug', { write: (line) => lines.push(line) }));
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

describe('log lines of one turn of the event loop', () => {
  it('are written together, and a warning at once with those before it', async () => {
    const writes: string[] = [];
    const log = createLogger('spec', 'info', new LinesOfTurn({ write: (lines) => writes.push(lines) }));
    const messages = () =>
      writes.map((lines) =>
        lines
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { msg: string }).msg),
      );
    log.info('one');
    log.warn('two');
    expect(messages()).toEqual([['one', 'two']]);
    log.info('three');
    log.info('four');
    expect(writes).toHaveLength(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages()).toEqual([
      ['one', 'two'],
      ['three', 'four'],
    ]);
  });
});

describe('a log line', () => {
  it('is one JSON object with name, level, RFC 3339 time and message', () => {
    expect(logged((log) => log.info({ order: 'a' }, 'issued'))).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pid: process.pid,
      name: 'spec',
      order: 'a',
      msg: 'issued',
    });
  });

  it('never holds authorization, cookies, API keys or a CSR', () => {
    const line = JSON.stringify(
      logged((log) =>
        log.info(
          {
            authorization: 'x1',
            req: { headers: { cookie: 'x2', authorization: 'x3' } },
            body: { deeper: { csr: 'x"4', 'set-cookie': ['x6', 'x7'] } },
            api_key: 'x5',
          },
          'request',
        ),
      ),
    );
    expect(line).not.toMatch(/x"?[1-7]/);
  });

  it('masks what looks like an API key, in the message and in a stack', () => {
    const line = JSON.stringify(
      logged((log) => log.error({ err: new Error(`bad key ${key}`) }, `key ${key} failed`)),
    );
    expect(line).not.toContain('Zm9vYmFy');
    expect(line).toContain('93847561029384_[masked]');
  });

  it('leaves out the parameters that a database driver hangs on its errors', () => {
    const error = Object.assign(new Error('insert failed', { cause: new Error('below') }), {
      parameters: ['csr-bytes'],
      code: '23505',
    });
    const line = logged((log) => log.error({ err: error }, 'failed'));
    expect(JSON.stringify(line)).not.toContain('csr-bytes');
    expect(line['err']).toMatchObject({
      type: 'Error',
      message: 'insert failed',
      code: '23505',
      cause: { message: 'below' },
    });
  });
});

describe('masking', () => {
  it.each([
    [`cannot open cwi1.${'aZ_-'.repeat(8)}.`, 'cannot open cwi1.[masked].'],
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [masked]'],
    ['basic dXNlcjo=', 'basic [masked]'],
    ['connect postgres://user:hunter22@db/core', 'connect postgres://[masked]@db/core'],
    ['-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n.', '[masked PRIVATE KEY]\\n.'],
    [`"${key}"`, '"93847561029384_[masked]"'],
    [`api_key_secret and snake_case_words_that_go_on`, 'api_key_secret and snake_case_words_that_go_on'],
  ])('%s', (line, masked) => {
    expect(maskSecrets(line)).toBe(masked);
  });

  it('leaves JSON what it was', () => {
    const members = {
      a: '-----BEGIN PRIVATE KEY-----\nMIIE',
      b: 'Bearer abc',
      c: 'postgres://u:p@h',
      csr: 'x\\"\\',
      d: 1,
    };
    expect(JSON.parse(maskSecrets(JSON.stringify(members)))).toEqual({
      a: '[masked PRIVATE KEY]',
      b: 'Bearer [masked]',
      c: 'postgres://[masked]@h',
      csr: '[masked]',
      d: 1,
    });
  });

  it('takes time in proportion to the line', () => {
    const line = `${'a-'.repeat(200_000)}_${'b'.repeat(200_000)} -----BEGIN ${'A'.repeat(200_000)} "csr":"${'\\\\n'.repeat(400_000)}"`;
    const begun = performance.now();
    maskSecrets(line);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});

describe('Nest’s logger', () => {
  it('leaves errors of the start to the process, which reports them', () => {
    const lines: string[] = [];
    const log = createLogger('spec', 'debug', { write: (line) => lines.push(line) });
    nestLogger(log).error(new Error('boom'), undefined, 'ExceptionHandler');
    expect(lines).toEqual([]);
  });

  it('writes its context as a member, and what it says while starting as debug', () => {
    expect(
      logged((log) => nestLogger(log).log('Mapped {/orders, GET} route', 'RouterExplorer')),
    ).toMatchObject({
      level: 'debug',
      context: 'RouterExplorer',
      msg: 'Mapped {/orders, GET} route',
    });
    expect(
      logged((log) => nestLogger(log).error(new Error('boom'), undefined, 'ExceptionsHandler')),
    ).toMatchObject({
      level: 'error',
      err: { message: 'boom' },
    });
  });
});
