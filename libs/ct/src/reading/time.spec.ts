import fc from 'fast-check';
import { readIssued } from '../index';
import { forgeCertificate, generalizedTime, seq, utcTime } from '../testing/forge';

function read(time: Uint8Array) {
  const der = forgeCertificate({ validity: seq(utcTime('260101000000Z'), time) });
  const { notAfter, faults } = readIssued(der, 'certificate');
  return { notAfter, faults };
}

const digitsOf = (date: Date) => date.toISOString().replace(/[-:T]|\.\d{3}/g, '');

it('every second that a UTCTime can express', () => {
  const range = {
    min: new Date('1950-01-01T00:00:00Z'),
    max: new Date('2049-12-31T23:59:59Z'),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(range), (date) => {
      const notAfter = Math.floor(date.getTime() / 1000) * 1000;
      expect(read(utcTime(digitsOf(new Date(notAfter)).slice(2)))).toEqual({ notAfter, faults: [] });
    }),
    { numRuns: 3000, seed: 5280 },
  );
});

it('every second of the years 0 to 9999 in a GeneralizedTime, which is for 2050 and later', () => {
  const range = {
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(range), (date) => {
      const notAfter = Math.floor(date.getTime() / 1000) * 1000;
      const faults = notAfter < Date.UTC(2050, 0, 1) ? ['time_form'] : [];
      expect(read(generalizedTime(digitsOf(new Date(notAfter))))).toEqual({ notAfter, faults });
    }),
    { numRuns: 3000, seed: 5280 },
  );
});

it.each<[Uint8Array, string]>([
  [utcTime('4912312359Z'), '2049-12-31T23:59:00Z'],
  [utcTime('491231235959'), '2049-12-31T23:59:59Z'],
  [utcTime('491231235959+0130'), '2049-12-31T22:29:59Z'],
  [utcTime('491231235959-0100'), '2050-01-01T00:59:59Z'],
  [utcTime('20491231235959Z'), '2049-12-31T23:59:59Z'],
  [generalizedTime('19491231235959Z'), '1949-12-31T23:59:59Z'],
  [generalizedTime('99991231235959Z'), '9999-12-31T23:59:59Z'],
  [generalizedTime('20600101000000.5Z'), '2060-01-01T00:00:00.500Z'],
  [generalizedTime('20600101000000,123456Z'), '2060-01-01T00:00:00.123Z'],
  [generalizedTime('206001010000Z'), '2060-01-01T00:00:00Z'],
  [generalizedTime('2060010106.5Z'), '2060-01-01T06:30:00Z'],
  [generalizedTime('20600101000000'), '2060-01-01T00:00:00Z'],
  [generalizedTime('20600101000000+14'), '2059-12-31T10:00:00Z'],
  [generalizedTime('20600229000000Z'), '2060-02-29T00:00:00Z'],
  [generalizedTime('20000229000000Z'), '2000-02-29T00:00:00Z'],
])('%s', (time, expected) => {
  const { notAfter, faults } = read(time);
  expect(notAfter).toBe(Date.parse(expected));
  expect(faults.filter((fault) => fault !== 'time_form')).toEqual([]);
});

it.each([
  utcTime(''),
  utcTime('Z'),
  utcTime('490229000000Z'),
  utcTime('490431000000Z'),
  utcTime('491301000000Z'),
  utcTime('490001000000Z'),
  utcTime('490100000000Z'),
  utcTime('490101240000Z'),
  utcTime('490101006000Z'),
  utcTime('490101000060Z'),
  utcTime('49010100000aZ'),
  utcTime('490101000000ZZ'),
  utcTime('490101000000+9900'),
  utcTime('4901010000000Z'),
  utcTime('49010100Z'),
  generalizedTime('21000229000000Z'),
  generalizedTime('20490101000000.Z'),
  generalizedTime('20490101Z'),
  generalizedTime(`20490101000000.${'0'.repeat(1000)}Z`),
])('%s is no time', (time) => expect(read(time)).toEqual({ notAfter: null, faults: ['not_after'] }));
