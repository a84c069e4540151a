import { types } from 'pg';
import { columnReaders } from './column-readers';

const timestamptz = 1184;
const textArray = 1009;

it.each<[number, string]>([
  [timestamptz, '2026-11-20 12:34:56+00'],
  [timestamptz, '2026-11-20 12:34:56.789+00'],
  [timestamptz, '2026-11-20 12:34:56.123456+00'],
  [timestamptz, '2026-11-20 23:59:59.999999+00'],
  [timestamptz, '1970-01-01 00:00:00+00'],
  [timestamptz, '0001-01-01 00:00:00+00'],
  [timestamptz, '9999-12-31 23:59:59+00'],
  [timestamptz, '1950-02-28 00:00:00.5+00'],
  [timestamptz, '2024-02-29 06:07:08+00'],
  [timestamptz, '2026-11-20 12:34:56+05:30'],
  [timestamptz, '10000-01-01 00:00:00+00'],
  [timestamptz, '0044-03-15 00:00:00+00 BC'],
  [timestamptz, 'infinity'],
  [textArray, '{}'],
  [textArray, '{a.example.com}'],
  [textArray, '{a.example.com,*.example.com}'],
  [textArray, '{NULL}'],
  [textArray, '{"a,b","\\"",c}'],
  [textArray, '{{a},{b}}'],
])('column of type %d: %s is read as the driver reads it', (oid, text) => {
  expect(columnReaders.getTypeParser(oid)(text)).toEqual(types.getTypeParser(oid)(text));
});

it('leaves all other columns to the driver', () => {
  expect(columnReaders.getTypeParser(23)('5')).toBe(5);
  expect(columnReaders.getTypeParser(20, 'text')('9223372036854775807')).toBe('9223372036854775807');
});
