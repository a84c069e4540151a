import { Problem } from '@certwright/errors';
import { exchange } from '@certwright/testing';
import { Body, Controller, Injectable, Module, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { MaxBody } from '../http/body-parsers';
import { createHttpApp } from '../http/http-app';
import { MemoryTokenBuckets } from '../limits/token-buckets';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { Readiness } from '../operations/readiness';
import { renderSampleProblem } from '../testing/sample-api';
import { Authenticator } from './authenticator';
import { Authenticated, Signed } from './route-access';
import { Sender, type SignedHead, type SignedRequests } from './signed-requests';

const heads: SignedHead[] = [];
const bodies: string[] = [];

/** Admits `x-signature: good`; `late` is found out when the body is there. */
@Injectable()
class SampleSignatures implements SignedRequests {
  async begin(head: SignedHead): Promise<(body: Buffer) => object> {
    heads.push(head);
    const { 'x-signature': signature } = head.headers;
    const refusal = new Problem('bad_credentials', 'The signature is wrong.');
    if (signature !== 'good' && signature !== 'late') return await Promise.reject(refusal);
    return (body) => {
      bodies.push(body.toString());
      if (signature === 'late') throw refusal;
      return { name: 'the sender' };
    };
  }
}

@Controller('sample')
class SignedController {
  @Post('signed')
  @Signed()
  @MaxBody(100)
  signed(@Sender() sender: object, @Body() body: object) {
    return { sender, body };
  }

  @Post('in_body')
  @Signed('in_body')
  inBody(@Sender() sender: object) {
    return sender;
  }

  @Post('by_key')
  @Authenticated()
  byKey() {
    return {};
  }
}

@Module({ controllers: [SignedController], providers: [SampleSignatures], exports: [SampleSignatures] })
class SignedModule {}

let app: NestFastifyApplication;
let url: string;
beforeAll(async () => {
  const rate = { ratePerS: 1_000, burst: 1_000 };
  const limits = { reads: rate, writes: rate, failedAuthentication: rate };
  app = await createHttpApp(SignedModule, {
    log: createLogger('spec', 'silent'),
    metrics: new Metrics('spec'),
    readiness: new Readiness(),
    renderProblem: renderSampleProblem,
    authenticator: new Authenticator({ find: () => Promise.resolve(null) }, new MemoryTokenBuckets(), limits),
    signedRequests: SampleSignatures,
  });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
});
afterAll(async () => await app.close());
beforeEach(() => {
  heads.length = 0;
  bodies.length = 0;
});

const post = async (path: string, signature: string | null, body = '{"a": 1}') =>
  await exchange(url, 'POST', path, {
    body,
    headers: signature === null ? {} : { 'x-signature': signature },
  });

describe('a signed request', () => {
  it('reaches its route with the sender, verified over the body as it was sent', async () => {
    const { status, json } = await post('/sample/signed?b=%20c', 'good');
    expect([status, json]).toEqual([201, { sender: { name: 'the sender' }, body: { a: 1 } }]);
    expect(heads).toMatchObject([
      { method: 'POST', path: '/sample/signed', query: '?b=%20c', signer: 'known' },
    ]);
    expect(bodies).toEqual(['{"a": 1}']);
  });

  it('with a wrong signature is refused before its body is read', async () => {
    expect((await post('/sample/signed', null)).status).toBe(401);
    expect(bodies).toEqual([]);
  });

  it('whose body is another one is refused', async () => {
    expect((await post('/sample/signed', 'late')).status).toBe(401);
    expect(bodies).toHaveLength(1);
  });

  it('says when its key is in the body', async () => {
    expect((await post('/sample/in_body', 'good')).status).toBe(201);
    expect(heads).toMatchObject([{ signer: 'in_body', query: '' }]);
  });

  it('does not admit to a route that needs an API key', async () => {
    expect((await post('/sample/by_key', 'good')).status).toBe(401);
    expect(heads).toEqual([]);
  });
});

it('a route may have a limit of its own for bodies', async () => {
  const body = JSON.stringify({ text: 'x'.repeat(200) });
  const { status, json } = await post('/sample/signed', 'good', body);
  expect([status, json.code]).toEqual([413, 'request_too_large']);
  expect((await post('/sample/in_body', 'good', body)).status).toBe(201);
});
