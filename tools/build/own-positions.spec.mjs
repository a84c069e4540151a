// @ts-check
import { SourceMap } from 'node:module';
import { ownPositions } from './own-positions.mjs';

// Generated line 1: a package at column 0, our file at 10 and 20, the package again at 30; line 2: our file at column 4.
const map = {
  version: 3,
  sources: ['../node_modules/pg/lib/client.js', '../../apps/orders-v3/src/main.ts'],
  mappings: 'AAAA,UCEE,UACA,UDFF;ICIA',
};

it('keeps the lines of our own sources, and maps nothing to a package', () => {
  const own = ownPositions(map, (source) => !source.includes('node_modules'));
  expect(own.sources).toEqual(['../../apps/orders-v3/src/main.ts']);
  const full = new SourceMap(/** @type {any} */ ({ ...map, names: [] }));
  const reduced = new SourceMap(/** @type {any} */ ({ ...own, names: [] }));
  const places = [
    [0, 12],
    [0, 25],
    [1, 6],
  ];
  for (const [line = 0, column = 0] of places) {
    const { originalSource, originalLine } = /** @type {any} */ (full.findEntry(line, column));
    expect(reduced.findEntry(line, column)).toMatchObject({ originalSource, originalLine });
    expect(originalSource).toContain('main.ts');
  }
  for (const column of [3, 35])
    expect(reduced.findEntry(0, column)).not.toMatchObject({ originalSource: expect.any(String) });
});
