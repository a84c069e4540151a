import { standingRecords } from './standing-records';

const name = '_acme-challenge.example.com.';
const value = 'label.approve.example.net.';

it('lead into the approval zone, as CNAME or as NS, names with a dot at their end', () => {
  expect(standingRecords('example.com', 'label', 'approve.example.net')).toEqual([
    { name, type: 'CNAME', value },
    { name, type: 'NS', value },
  ]);
});

it('of a wildcard stand at its base name', () => {
  expect(standingRecords('*.example.com', 'label', 'approve.example.net')).toMatchObject([
    { name, value },
    { name, value },
  ]);
});
