import type { NameQuery } from '@certwright/ct';
import {
  isWildcard,
  parseMonitoredName,
  parsePublicName,
  quoteInput,
  registeredDomain,
} from '@certwright/dns-names';
import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AfterMember, ExpandQuery } from '../wire/paging';

/** RFC 1035, section 2.3.4: bytes of a name as text. */
const maxNameLength = 253;

/**
 * Labels that are forbidden in certificates, but occur in old ones: with underscores, or with hyphens at their ends or at the
 * third and fourth position.
 */
const asCertified = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+$/;

/**
 * The searched domain in the form of the index: lower-case A-labels, no trailing dot. It is a registrable domain or
 * below one. Every name that a certificate in the index may have is accepted.
 */
function readDomain(input: unknown): string | Unreadable {
  if (input === undefined || input === '')
    return new Unreadable([{ code: 'missing_field', message: 'The domain to search is required.' }]);
  if (typeof input !== 'string') return Unreadable.because('It is given more than once.');
  const parsed = parsePublicName(input);
  if (parsed.ok ? isWildcard(parsed.name) : input.startsWith('*.'))
    return Unreadable.because(
      `${quoteInput(input)} is a wildcard: search the domain without it, with match_wildcards or include_subdomains.`,
    );
  if (parsed.ok) return parsed.name;
  const message = parsed.message.replace(' cannot be certified:', ' cannot be searched:');
  return oddName(input) ?? Unreadable.because(message);
}

function oddName(input: string): string | null {
  // With underscores beside U-labels.
  const parsed = parseMonitoredName(input);
  if (parsed.ok && !parsed.name.startsWith('.')) return parsed.name;
  const name = input.toLowerCase().replace(/\.$/, '');
  if (name.length > maxNameLength || !/^[\x21-\x7e]*$/.test(input) || !asCertified.test(name)) return null;
  return registeredDomain(name) === null ? null : name;
}

const flags: ReadonlyMap<unknown, boolean> = new Map([
  ['', false],
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

const FlagMember = (description: string): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ type: Boolean, description: `${description} Default: false.` }),
    ReadBy((value) => flags.get(value) ?? Unreadable.because('It must be true or false (1 or 0), once.')),
  );

export class SearchQuery extends ExpandQuery {
  @ApiProperty({ description: 'A registered domain or a name beneath one; U-labels are taken too.' })
  @ReadBy(readDomain, { isRequired: true })
  readonly domain: string;

  @FlagMember('Names beneath the domain as well, at any depth.')
  readonly include_subdomains: boolean = false;

  @FlagMember('Wildcard names that match the domain as well.')
  readonly match_wildcards: boolean = false;

  @AfterMember('none is')
  readonly after: string | null = null;

  toNameQuery(): NameQuery {
    const { domain, include_subdomains: includeSubdomains, match_wildcards: matchWildcards } = this;
    return { domain, includeSubdomains, matchWildcards };
  }

  /** Parameters of the next page, except `after` and `expand`; default values are omitted. */
  parameters(): Readonly<Record<string, string>> {
    return {
      domain: this.domain,
      ...(this.include_subdomains ? { include_subdomains: 'true' } : {}),
      ...(this.match_wildcards ? { match_wildcards: 'true' } : {}),
    };
  }
}
