import type { NameQuery } from '@certwright/ct';
import { beginning } from '../wire/cursor';
import { expandedNames } from '../wire/expansion';
import { type Query, QueryReading } from '../wire/query';
import { parseSearchDomain } from './search-domain';

export interface SearchQuery extends NameQuery {
  /** Id of the issuance behind which the page begins. */
  readonly after: string;
  /** Names of expandable members. */
  readonly expanded: readonly string[];
}

/** @throws Problem `bad_query` with a sub-error for each parameter that does not hold */
export function readSearchQuery(query: Query): SearchQuery {
  const reading = new QueryReading(query);
  const domain = readDomain(reading);
  const includeSubdomains = reading.flag('include_subdomains');
  const matchWildcards = reading.flag('match_wildcards');
  const after = reading.after() ?? beginning;
  reading.assertNoFaults();
  return { domain, includeSubdomains, matchWildcards, after, expanded: expandedNames(query['expand']) };
}

function readDomain(reading: QueryReading): string {
  const given = reading.requiredText('domain', 'The domain to search');
  if (given === '') return '';
  const parsed = parseSearchDomain(given);
  if (parsed.ok) return parsed.domain;
  reading.fault('domain', 'invalid_value', parsed.message);
  return '';
}

/** The parameters of the next page, apart from `after` and `expand`; the ones that hold by themselves are left out. */
export function parametersOf({
  domain,
  includeSubdomains,
  matchWildcards,
}: NameQuery): Record<string, string> {
  return {
    domain,
    ...(includeSubdomains ? { include_subdomains: 'true' } : {}),
    ...(matchWildcards ? { match_wildcards: 'true' } : {}),
  };
}
