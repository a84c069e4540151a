import { parseLsof, parsePs } from './macos-processes.mjs';

it('reads the working directories of processes from lsof', () => {
  const printed = 'p812\nfcwd\nn/Users/a b/certwright/.certwright/postgres/data\np815\nfcwd\nn/\n';
  expect(parseLsof(printed)).toEqual([
    { pid: 812, cwd: '/Users/a b/certwright/.certwright/postgres/data' },
    { pid: 815, cwd: '/' },
  ]);
  expect(parseLsof('')).toEqual([]);
});

it('reads the processes with an environment variable from ps', () => {
  const printed = [
    '  501 /usr/local/bin/node jest.js PATH=/bin CERTWRIGHT_TEST_RUN=/w/.certwright/test/77 HOME=/Users/a',
    '  502 /usr/local/bin/node main.js CERTWRIGHT_TEST_RUN=/w/.certwright/test/77',
    '  503 /usr/local/bin/node main.js CERTWRIGHT_TEST_RUN=/w/.certwright/test/778',
    '  504 -zsh OTHER_CERTWRIGHT_TEST_RUN=/w/.certwright/test/77',
  ].join('\n');
  expect(parsePs(printed, 'CERTWRIGHT_TEST_RUN=/w/.certwright/test/77')).toEqual([501, 502]);
});
