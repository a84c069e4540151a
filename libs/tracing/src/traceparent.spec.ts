import { readTraceparent, writeTraceparent } from './traceparent';

const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const text = (flags: string, version = '00') => `${version}-${ids.traceId}-${ids.spanId}-${flags}`;

describe('a traceparent', () => {
  it('is read and written as W3C Trace Context defines it', () => {
    expect(readTraceparent(text('01'))).toEqual({ ...ids, isSampled: true });
    expect(readTraceparent(text('00'))).toEqual({ ...ids, isSampled: false });
    expect(readTraceparent(text('03'))).toEqual({ ...ids, isSampled: true });
    expect(writeTraceparent({ ...ids, isSampled: true })).toBe(text('01'));
    expect(writeTraceparent({ ...ids, isSampled: false })).toBe(text('00'));
  });

  it('of a later version may have more members', () => {
    expect(readTraceparent(`${text('01', '01')}-more`)).toEqual({ ...ids, isSampled: true });
  });

  it.each([
    '',
    text('01', 'ff'),
    text('1'),
    `${text('01')}-more`,
    `${text('01', '01')}more`,
    text('01').toUpperCase(),
    text('01').replace(ids.traceId, '0'.repeat(32)),
    text('01').replace(ids.spanId, '0'.repeat(16)),
    ` ${text('01')}`,
    `${text('01', '01')}-${'a'.repeat(200)}`,
  ])('is refused: %j', (given) => {
    expect(readTraceparent(given)).toBeNull();
  });
});
