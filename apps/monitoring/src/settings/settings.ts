import { parsePublicName, quoteInput } from '@certwright/dns-names';
import { EnumMember, ReadBy, ReadObject, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';

const mailTimes = ['at_once', 'digest', 'off'] as const;
type MailTime = (typeof mailTimes)[number];
const heartbeats = ['weekly', 'off'] as const;
type Heartbeat = (typeof heartbeats)[number];

const maxAuthorizedCas = 50;

const documented = {
  authorizedCas: {
    type: [String],
    maxItems: maxAuthorizedCas,
    example: ['letsencrypt.org'],
    description:
      'Issuer domain names of CAA records. A certificate from one of these CAs is known, also if it was requested by an attacker: one who controls a domain gets certificates from your CA too. Default: none.',
  },
  alertDelay: {
    type: 'integer',
    minimum: 0,
    maximum: 60,
    description: 'Minutes until an unknown certificate is reported. Default: 0.',
  },
  mail: { description: 'When mail is sent.' },
  digestHour: {
    type: 'integer',
    minimum: 0,
    maximum: 23,
    description: 'Hour of the day in UTC at which digests are sent. Default: 6.',
  },
  heartbeat: { enum: [...heartbeats], description: 'A mail although nothing happened. Default: weekly.' },
} as const satisfies Record<string, ApiPropertyOptions>;

const documentedMail = (what: string): ApiPropertyOptions => ({
  enum: [...mailTimes],
  description: `About ${what}. Default: at_once.`,
});

/** When mail is sent. */
export class MailSettingsSchema {
  @ApiProperty(documentedMail('certificates'))
  certificates: MailTime;

  @ApiProperty(documentedMail('endpoints'))
  endpoints: MailTime;
}

/** How an account is notified of certificates. */
export class MonitoringSettingsSchema {
  @ApiProperty(documented.authorizedCas)
  authorized_cas: readonly string[];

  @ApiProperty(documented.alertDelay)
  alert_delay_minutes: number;

  @ApiProperty({ type: MailSettingsSchema, ...documented.mail })
  mail: MailSettingsSchema;

  @ApiProperty(documented.digestHour)
  digest_hour_utc: number;

  @ApiProperty(documented.heartbeat)
  heartbeat: Heartbeat;
}

export const defaultSettings: MonitoringSettingsSchema = {
  authorized_cas: [],
  alert_delay_minutes: 0,
  mail: { certificates: 'at_once', endpoints: 'at_once' },
  digest_hour_utc: 6,
  heartbeat: 'weekly',
};

/** Members of `mail` in a request; one that is left out keeps its value. */
export class MailSettingsRequest {
  @EnumMember(mailTimes, documentedMail('certificates'))
  certificates?: MailTime;

  @EnumMember(mailTimes, documentedMail('endpoints'))
  endpoints?: MailTime;
}

const IntegerMember = (
  options: ApiPropertyOptions & { readonly minimum: number; readonly maximum: number },
) =>
  applyDecorators(
    ApiPropertyOptional(options),
    ReadBy((value) => {
      const { minimum, maximum } = options;
      if (!Number.isInteger(value)) return Unreadable.because('It must be a whole number.');
      if (Number(value) >= minimum && Number(value) <= maximum) return value;
      return new Unreadable([{ code: 'out_of_range', message: `It must be from ${minimum} to ${maximum}.` }]);
    }),
  );

/** The body of a POST; a member that is left out keeps its value. */
export class MonitoringSettingsRequest {
  @ApiPropertyOptional(documented.authorizedCas)
  @ReadBy(readAuthorizedCas)
  authorized_cas?: readonly string[];

  @IntegerMember(documented.alertDelay)
  alert_delay_minutes?: number;

  @ApiPropertyOptional({ type: MailSettingsRequest, ...documented.mail })
  @ReadObject(MailSettingsRequest, { isRequired: false })
  mail?: MailSettingsRequest;

  @IntegerMember(documented.digestHour)
  digest_hour_utc?: number;

  @EnumMember(heartbeats, documented.heartbeat)
  heartbeat?: Heartbeat;
}

/** RFC 8659, section 4.2: an issuer domain name is a domain name, without a wildcard. */
function readAuthorizedCas(value: unknown): readonly string[] | Unreadable {
  if (!Array.isArray(value)) return Unreadable.because('It must be an array of strings.');
  if (value.length > maxAuthorizedCas)
    return Unreadable.because(
      `At most ${maxAuthorizedCas} CAs can be authorized; ${value.length} were sent.`,
    );
  const names = new Set<string>();
  for (const each of value) {
    const parsed = parsePublicName(each);
    if (!parsed.ok || parsed.name.startsWith('*.'))
      return Unreadable.because(
        `${quoteInput(each)} is not the issuer domain name of a CA, such as letsencrypt.org.`,
      );
    names.add(parsed.name);
  }
  return [...names].sort();
}

/** Settings after a request. */
export function changedSettings(
  before: MonitoringSettingsSchema,
  { mail, ...request }: Partial<MonitoringSettingsRequest>,
): MonitoringSettingsSchema {
  return { ...before, ...request, mail: { ...before.mail, ...mail } };
}
