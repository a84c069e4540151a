import { forgeMany } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { readJsonEntries } from './json-entries';

const entries = forgeMany(5).map((submission, at) => {
  const { leaf, extraData } = served(submission, at, false);
  return { leaf_input: leaf.toString('base64'), extra_data: extraData.toString('base64') };
});
const usual = JSON.stringify({ entries });
const read = (text: string, most = 100) => readJsonEntries(Buffer.from(text), most);

it.each([
  ['with a line end', `${usual}\n`],
  ['with white space', JSON.stringify({ entries }, null, 2)],
  ['with white space at its end', `${usual} \n `],
  ['with slashes escaped', usual.replaceAll('/', '\\/')],
  ['with letters escaped', usual.replaceAll('A', '\\u0041')],
  [
    'with members in another order',
    JSON.stringify({ entries: entries.map(({ leaf_input, extra_data }) => ({ extra_data, leaf_input })) }),
  ],
  [
    'with members that nobody knows',
    JSON.stringify({ version: 1, entries: entries.map((each) => ({ ...each, sct: '' })), more: [] }),
  ],
  ['with members that nobody knows in the last entry', usual.replace(/\}\]\}$/, ',"sct":""}]}')],
])('an answer %s says the same as one without', (_, text) => {
  const expected = read(usual);
  expect(expected.map(({ kind }) => kind)).toEqual(entries.map(() => 'read'));
  expect(read(text)).toEqual(expected);
});

it('what is no base64 in one entry is odd, and the others are read', () => {
  const [first, second, ...others] = entries;
  for (const wrong of ['_', '=', '%%%%']) {
    const odd = { ...second, extra_data: wrong };
    const kinds = read(JSON.stringify({ entries: [first, odd, ...others] })).map((entry) =>
      entry.kind === 'read' ? 'read' : entry.fault,
    );
    expect(kinds).toEqual(['read', 'json', 'read', 'read', 'read']);
  }
});

it.each([
  ['as usual', usual],
  ['otherwise', JSON.stringify({ entries }, null, 2)],
])('no more are read than were asked for, of an answer that is written %s', (_, text) => {
  expect(read(text, 3)).toEqual(read(usual).slice(0, 3));
  expect(read(text, 5)).toEqual(read(usual));
});

it.each([
  ['objects', '{"entries":[', '{},'],
  ['lists within lists', '', '['],
  ['entries', '{"entries":[', '{"extra_data":"","leaf_input":""},'],
])('an answer of millions of %s is not made values of', (_, begin, one) => {
  expect(() => read(`${begin}${one.repeat(4_000_000 / one.length)}`)).toThrow('far more than was asked for');
});

it.each([
  ['cut off', usual.slice(0, -1)],
  ['cut off in an entry', usual.slice(0, -500)],
  ['cut off in its beginning', '{"entries":[{"leaf_in'],
  ['with something behind it', `${usual}{}`],
  ['with two commas', usual.replace('},{', '},,{')],
  ['with a comma behind the last entry', usual.replace(']}', ',]}')],
])('an answer %s is no JSON', (_, text) => expect(() => read(text)).toThrow('something that is not JSON'));

it.each([
  ['nothing in it', ''],
  ['no entries', '{"entries":[]}'],
  ['something else', '{"error":"no"}'],
  ['an entry without a leaf', '{"entries":[{"leaf_input":7,"extra_data":""}]}'],
])('an answer with %s is none', (_, text) => expect(() => read(text)).toThrow('The log answered'));
