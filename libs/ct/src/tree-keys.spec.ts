import { TreeKeys } from './tree-keys';

let hashed: string[];
let keys: TreeKeys;
beforeEach(() => {
  hashed = [];
  keys = new TreeKeys((ancestor) => `key of ${hashed[hashed.push(ancestor) - 1]}`);
});
const of = (name: string) => keys.of(name, name.indexOf('.') + 1);

it('hashes an ancestor once while it is recent', () => {
  expect([of('a.example.com'), of('b.example.com'), of('example.com')]).toEqual([
    'key of example.com',
    'key of example.com',
    'key of com',
  ]);
  expect(hashed).toEqual(['example.com', 'com']);
  for (let nth = 0; nth < 8_192; nth += 1) of(`a.n${nth}.example.net`);
  hashed = [];
  // They are of the older generation now.
  expect([of('a.example.com'), of('a.n8000.example.net'), hashed]).toEqual([
    'key of example.com',
    'key of n8000.example.net',
    [],
  ]);
  for (let nth = 0; nth < 20_000; nth += 1) of(`a.m${nth}.example.net`);
  expect([of('a.example.com'), hashed.at(-1)]).toEqual(['key of example.com', 'example.com']);
});

it('does not cache ancestors of names that are too long', () => {
  const name = `a.${'x'.repeat(300)}.com`;
  expect([of(name), of(name)]).toEqual(Array(2).fill(`key of ${'x'.repeat(300)}.com`));
  expect(hashed).toHaveLength(2);
});
