import { standingRecords } from './standing-records';

const name = '_acme-challenge.example.com.';
const value = 'label.approve.example.net.';

it('lead into the approval zone, as CNAME or as NS, names with a dot at their end', () => {
  expect(standingRecords('example.com', 'label', 'approve.example.net')).toEqual([
    { name, type: 'CNAME', value },
    { name, type: 'NS', value },
  ]);
});

it('exist for names of up to 237 bytes, without `*.`, so that the record name has at most 253', () => {
  const longest = `${'a'.repeat(62)}.${'b'.repeat(62)}.${'c'.repeat(62)}.${'d'.repeat(36)}.example.com`;
  expect(longest).toHaveLength(237);
  for (const name of [longest, `*.${longest}`])
    expect(standingRecords(name, 'label', 'approve.example.net')).toHaveLength(2);
  for (const name of [`e${longest}`, `*.e${longest}`])
    expect(standingRecords(name, 'label', 'approve.example.net')).toEqual([]);
});

it('of a wildcard stand at its base name', () => {
  expect(standingRecords('*.example.com', 'label', 'approve.example.net')).toMatchObject([
    { name, value },
    { name, value },
  ]);
});
