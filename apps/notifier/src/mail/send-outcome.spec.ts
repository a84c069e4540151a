import { mailWaitsMs, nextMailTry, sendFailure } from './send-outcome';

const hour = 3_600_000;

describe('a mail that was not sent', () => {
  it.each([
    [{ responseCode: 550, command: 'RCPT TO', response: '550 no such user' }, 'refused'],
    [{ responseCode: 552, command: 'DATA', response: '552 too large' }, 'refused'],
    [{ responseCode: 553, command: 'MAIL FROM', response: '553 sender' }, 'refused'],
    [{ responseCode: 530, command: 'MAIL FROM', response: '530 authentication required' }, 'failed'],
    [{ responseCode: 535, command: 'AUTH PLAIN', response: '535 wrong password' }, 'failed'],
    [{ responseCode: 554, command: 'CONN', response: '554 not now' }, 'failed'],
    [{ responseCode: 451, command: 'DATA', response: '451 greylisted' }, 'failed'],
    [{ code: 'ETIMEDOUT', command: 'CONN' }, 'failed'],
    [new Error('anything'), 'failed'],
    [undefined, 'failed'],
  ])('after %p is %s', (error, kind) => {
    expect(sendFailure(error).kind).toBe(kind);
  });

  it('has a problem for the log, without addresses', () => {
    const response = '550 5.1.1 <admin@example.com>: admin@example.com is unknown';
    expect(sendFailure({ responseCode: 550, command: 'RCPT TO', response }).problem).toBe(
      'RCPT TO: 550 5.1.1 (address): (address) is unknown',
    );
  });
});

describe('the next attempt', () => {
  it('comes later each time, and ends after four days', () => {
    const now = new Date(0);
    const waits = mailWaitsMs.map((_, at) => nextMailTry(at + 1, now, 0)?.getTime());
    expect(waits).toEqual([...waits].sort((one, other) => Number(one) - Number(other)));
    const all = mailWaitsMs.reduce((sum, wait) => sum + wait, 0);
    expect(all / hour).toBeGreaterThan(96);
    expect(all / hour).toBeLessThan(120);
    expect(nextMailTry(mailWaitsMs.length + 1, now, 0)).toBeNull();
  });
});
