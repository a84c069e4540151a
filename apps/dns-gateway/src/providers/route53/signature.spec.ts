import { awsQuery, signed } from './signature';

/** https://docs.aws.amazon.com/general/latest/gr/signature-v4-test-suite.html (archived): its keys, date and scope. */
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
};
const now = new Date('2015-08-30T12:36:00Z');
const scope = { service: 'service', region: 'us-east-1' };
const url = (rest: string) => `https://example.amazonaws.com${rest}`;

describe('Signature Version 4', () => {
  it.each([
    ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'get-vanilla-query-order-key-case',
      'GET',
      '/?Param2=value2&Param1=value1',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'get-vanilla-utf8-query',
      'GET',
      `/?${awsQuery({ ሴ: 'bar' })}`,
      '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
    ],
  ] as const)('agrees with the published vector %s', (_, method, rest, signature) => {
    const { headers } = signed({ method, url: url(rest), headers: {} }, credentials, scope, now);
    expect(headers['authorization']).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
        `SignedHeaders=host;x-amz-date, Signature=${signature}`,
    );
    expect(headers['x-amz-date']).toBe('20150830T123600Z');
  });

  it('agrees with the published vector post-x-www-form-urlencoded', () => {
    const { headers } = signed(
      {
        method: 'POST',
        url: url('/'),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'Param1=value1',
      },
      credentials,
      scope,
      now,
    );
    expect(headers['authorization']).toContain('SignedHeaders=content-type;host;x-amz-date, ');
    expect(headers['authorization']).toContain(
      'Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    );
  });

  it('agrees with the worked example of IAM ListUsers in the documentation', () => {
    const { headers } = signed(
      {
        method: 'GET',
        url: 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08',
        headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      },
      credentials,
      { service: 'iam', region: 'us-east-1' },
      now,
    );
    expect(headers['authorization']).toContain(
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    );
  });

  it('a session token is sent and signed', () => {
    const temporary = { ...credentials, sessionToken: 'token' };
    const { headers } = signed({ method: 'GET', url: url('/'), headers: {} }, temporary, scope, now);
    expect(headers['x-amz-security-token']).toBe('token');
    expect(headers['authorization']).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token, ');
  });

  it('a query keeps only unreserved characters unencoded', () => {
    expect(awsQuery({ name: "*.a b+c/d!'()~-_." })).toBe('name=%2A.a%20b%2Bc%2Fd%21%27%28%29~-_.');
  });
});
