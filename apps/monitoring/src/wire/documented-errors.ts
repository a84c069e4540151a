import { Problem } from '@certwright/errors';
import {
  commonErrors,
  errorDecorators,
  ErrorExamples,
  ErrorSchema,
  renderErrorObject,
} from '@certwright/service';
import {
  keyNotAuthorizable,
  methodOfMember,
  noSuchCertificate,
  noSuchEndpoint,
  noSuchKnownCertificate,
  noSuchKnownKey,
  noSuchMonitoredDomain,
  nothingToAcknowledge,
  tooManyKnownObjects,
  tooManyMonitoredDomains,
  tooManyTests,
} from './problems';

const invalid = (field: string, message: string): Problem =>
  Problem.ofFields([{ field, code: 'invalid_value', message }]);

/** The errors of this API. When several have one code, the name identifies the error. */
export const errorExamples = new ErrorExamples(
  {
    ...commonErrors,
    unauthorized: new Problem(
      'unauthorized',
      'This API key lacks the permission "Manage Monitored Domains".',
    ),
    bad_name: Problem.ofFields([
      {
        field: 'name',
        code: 'invalid_dns_name',
        message: '"*.example.com" is a wildcard: use a leading dot to monitor a domain with its sub-domains.',
      },
    ]),
    not_public: Problem.ofFields([
      {
        field: 'name',
        code: 'not_public_domain',
        message:
          '".co.uk" cannot be monitored: it is itself a public suffix, which many parties register names under.',
      },
    ]),
    bad_domain: invalid('enabled', 'It must be true or false.'),
    bad_key: Problem.ofFields([
      {
        field: 'csr',
        code: 'bad_csr_signature',
        message:
          'The CSR is not signed with the private key that belongs to its public key. Generate the CSR again from the private key.',
      },
    ]),
    bad_certificate: invalid('certificate', 'The body is not one PEM block with the label CERTIFICATE.'),
    bad_settings: Problem.ofFields([
      { field: 'alert_delay_minutes', code: 'out_of_range', message: 'It must be from 0 to 60.' },
    ]),
    too_many_domains: tooManyMonitoredDomains(1_000),
    too_many_known: tooManyKnownObjects('known keys'),
    domain_not_found: noSuchMonitoredDomain(),
    key_not_found: noSuchKnownKey(),
    certificate_not_found: noSuchKnownCertificate(),
    finding_not_found: noSuchCertificate(),
    endpoint_not_found: noSuchEndpoint(),
    bad_endpoint: invalid('muted', 'It must be true or false.'),
    too_many_tests: tooManyTests(3_600),
    bad_acknowledgment: invalid('acknowledged', 'It must be true or false.'),
    nothing_to_acknowledge: nothingToAcknowledge(),
    key_not_authorizable: keyNotAuthorizable(
      'It has no key that can be authorized: it is a test or cannot be read.',
    ),
    method_not_allowed: methodOfMember(),
  },
  renderErrorObject,
  ErrorSchema.name,
);

/** Errors of every POST. */
export const posted = {
  bad_request: 'The body is not valid; see sub_errors',
  request_too_large: 'The body is over 256 KiB',
  unsupported_media_type: 'The Content-Type of the body is not one of the documented ones',
} as const;

export const { FailsWith } = errorDecorators(errorExamples);
