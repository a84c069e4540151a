import type { ProviderPorts } from '../dns-provider';
import { checkedCall } from '../http/checked-call';
import { orAbort } from '../http/or-abort';
import type { AwsSettings } from '../operator';
import { ProviderFault } from '../provider-fault';
import { awsReading } from './aws-responses';
import { type AwsCredentials, awsQuery, signed } from './signature';
import { readXml } from './xml';

export interface RoleSession extends AwsCredentials {
  readonly endsAtMs: number;
}

/** The minimal session policy; further permissions of the role are not usable. */
const sessionPolicy = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Action: [
        'route53:ListHostedZones',
        'route53:ListResourceRecordSets',
        'route53:ChangeResourceRecordSets',
        'route53:GetChange',
      ],
      Resource: '*',
    },
  ],
});

/** An hour is the longest duration that every role allows (MaxSessionDuration is at least that). */
const sessionS = 3_600;
/** Sessions are not used in their last five minutes. */
const marginMs = 300_000;
/** Time limit of a shared exchange: three attempts of ten seconds. */
const exchangeWithinMs = 25_000;
const maxSessions = 10_000;

const provider = 'AWS STS';

/** Caches the sessions of customers' roles for an hour, in this process only. */
export class RoleSessions {
  readonly #sessions = new Map<string, { exchange: Promise<RoleSession>; endsAtMs: number }>();

  constructor(
    private readonly stsUrl: string,
    private readonly aws: AwsSettings,
  ) {}

  /** @throws ProviderFault `auth_failed` when the role denies access; the signal's reason */
  async get(
    roleArn: string,
    externalId: string,
    ports: ProviderPorts,
    signal: AbortSignal,
  ): Promise<RoleSession> {
    const key = JSON.stringify([roleArn, externalId]);
    const known = this.#sessions.get(key);
    if (known !== undefined && ports.now().getTime() < known.endsAtMs - marginMs) {
      return await orAbort(known.exchange, signal);
    }
    const entry = { exchange: this.assume(roleArn, externalId, ports), endsAtMs: Infinity };
    this.#keep(key, entry);
    entry.exchange.then(
      (session) => (entry.endsAtMs = session.endsAtMs),
      () => this.#sessions.delete(key),
    );
    return await orAbort(entry.exchange, signal);
  }

  /** A session was refused before its expiry: the next caller assumes the role again. */
  forget(roleArn: string, externalId: string): void {
    this.#sessions.delete(JSON.stringify([roleArn, externalId]));
  }

  /** @param externalId null: none is sent, which a correctly configured role refuses */
  async assume(roleArn: string, externalId: string | null, ports: ProviderPorts): Promise<RoleSession> {
    const signal = AbortSignal.timeout(exchangeWithinMs);
    try {
      return await this.#assume(roleArn, externalId, ports, signal);
    } catch (error) {
      if (error !== signal.reason) throw error;
      throw new ProviderFault('unavailable', `${provider} did not respond in time.`);
    }
  }

  async #assume(
    roleArn: string,
    externalId: string | null,
    { callApi: call, now, rest }: ProviderPorts,
    signal: AbortSignal,
  ): Promise<RoleSession> {
    const request = {
      method: 'POST',
      url: `${this.stsUrl}/`,
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: awsQuery({
        Action: 'AssumeRole',
        Version: '2011-06-15',
        RoleArn: roleArn,
        RoleSessionName: 'certwright-dns-gateway',
        ...(externalId === null ? {} : { ExternalId: externalId }),
        Policy: sessionPolicy,
        DurationSeconds: String(sessionS),
      }),
    } as const;
    const { aws } = this;
    const withSignature = signed(request, aws, { service: 'sts', region: aws.stsRegion }, now());
    const secrets = [aws.secretAccessKey, aws.sessionToken ?? '', signatureOf(withSignature.headers)];
    const response = await checkedCall(
      { ...withSignature, secrets, repeatable: true },
      awsReading(provider),
      {
        call,
        now,
        rest,
        signal,
      },
    );
    return readSession(response.text);
  }

  #keep(key: string, entry: { exchange: Promise<RoleSession>; endsAtMs: number }): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, entry);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

function readSession(text: string): RoleSession {
  const result = readXml(text, 'AssumeRoleResponse').child('AssumeRoleResult').child('Credentials');
  const endsAtMs = Date.parse(result.child('Expiration').text());
  if (Number.isNaN(endsAtMs))
    throw new ProviderFault('unavailable', `${provider} returned no end of the session.`);
  return {
    accessKeyId: visible(result.child('AccessKeyId').text()),
    secretAccessKey: visible(result.child('SecretAccessKey').text()),
    sessionToken: visible(result.child('SessionToken').text()),
    endsAtMs,
  };
}

/** The values are sent in headers. */
function visible(text: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(text)) return text;
  throw new ProviderFault('unavailable', `${provider} gave credentials that cannot be sent.`);
}

export const signatureOf = (headers: Readonly<Record<string, string>>): string =>
  /Signature=([0-9a-f]+)/.exec(headers['authorization'] ?? '')?.[1] ?? '';
