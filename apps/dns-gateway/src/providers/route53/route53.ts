import { described, keptMember, type MemberRule, readMembers } from '../credential-members';
import type { DnsProvider } from '../dns-provider';
import { externalIdOf } from '../external-id';
import type { AwsSettings } from '../operator';
import { ProviderFault } from '../provider-fault';
import { rrsetChanges } from '../records/rrset-changes';
import { RoleSessions } from './role-sessions';
import { Route53Client } from './route53-client';

export interface Route53Options {
  /** Default: https://route53.amazonaws.com */
  readonly baseUrl?: string;
  /** Default: the STS endpoint in `aws.stsRegion`. */
  readonly stsUrl?: string;
  /** Null: the provider is unavailable. */
  readonly aws: AwsSettings | null;
}

const title = 'Amazon Route 53';
const advice =
  'Create a role for this service alone. Its trust policy names the principal and demands the external id ' +
  '(Condition: StringEquals, sts:ExternalId); a role without that condition is not accepted. Its permissions: ' +
  'route53:ListHostedZones on *, and route53:ListResourceRecordSets and route53:ChangeResourceRecordSets on the hosted ' +
  'zones that certificates are for. The condition keys route53:ChangeResourceRecordSetsNormalizedRecordNames and ' +
  'route53:ChangeResourceRecordSetsRecordTypes can limit changes to TXT and CNAME at _acme-challenge names.';

const rules: readonly MemberRule[] = [
  {
    name: 'role_arn',
    meaning: 'the role that this service is to assume',
    secret: false,
    required: true,
    shape: /^arn:aws:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/,
    shapeDescription: 'the ARN of a role, such as arn:aws:iam::111122223333:role/certwright',
  },
];

/** https://docs.aws.amazon.com/Route53/latest/APIReference/ and https://docs.aws.amazon.com/STS/latest/APIReference/ */
export function route53Provider(options: Route53Options): DnsProvider {
  const { baseUrl = 'https://route53.amazonaws.com', aws } = options;
  const stsUrl = options.stsUrl ?? `https://sts.${aws?.stsRegion ?? 'us-east-1'}.amazonaws.com`;
  const sessions = aws === null ? null : new RoleSessions(stsUrl, aws);
  return {
    name: 'route53',
    title,
    advice,
    credentialKinds: (account) => {
      if (aws === null) return [];
      const external_id = externalIdOf(aws.externalIdSecret, 'route53', account);
      const kind = { type: 'cloud_account', members: described(rules), authorization_url: null } as const;
      return [{ ...kind, principal: aws.principalArn, external_id }];
    },
    async accept(credentials, _account, ports) {
      const members = readMembers(credentials, sessions === null ? {} : { cloud_account: rules });
      await sessions?.assume(members['role_arn'] ?? '', null, ports).then(refuseOpenRole, ifNotLetIn);
      return { type: 'cloud_account', ...members };
    },
    session(kept, account, ports, signal) {
      if (aws === null || sessions === null) {
        throw new ProviderFault('auth_failed', 'This service has no AWS account any more.');
      }
      const role = keptMember(kept, 'role_arn');
      const externalId = externalIdOf(aws.externalIdSecret, 'route53', account);
      const access = {
        credentials: () => sessions.get(role, externalId, ports, signal),
        refused: () => sessions.forget(role, externalId),
      };
      const client = new Route53Client(baseUrl, access, ports, signal);
      return { zones: () => client.zones(), ...rrsetChanges(client, ports, signal), renewed: () => null };
    },
  };
}

/** A role that admits us without the external id would admit every account of ours that names it. */
function refuseOpenRole(): never {
  throw new ProviderFault(
    'rejected',
    'The role can be assumed without the external id. Let its trust policy demand sts:ExternalId, and try again.',
  );
}

/** The expected result. Whether the role admits us with the external id is known at the first use. */
function ifNotLetIn(error: unknown): void {
  if (!(error instanceof ProviderFault) || error.kind !== 'auth_failed') throw error;
}
