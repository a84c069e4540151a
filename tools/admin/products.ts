import { CertificateAuthorityEntity, ProductEntity } from '@certwright/core-schema';
import { WaitingIssuances } from '@certwright/ordering';
import { curveNames, rsaKeySizes } from '@certwright/pki';
import { decimalOf, type ProductAuthority } from '@certwright/issuance';
import { Command, InvalidArgumentError } from 'commander';
import type { DataSource } from 'typeorm';
import { boolean, currency, integer, unsignedAmount } from './option-values';
import type { WithDatabase } from './with-database';

type Change = Partial<Omit<ProductEntity, 'name'>>;

interface Options extends Omit<Change, 'termDays'> {
  /** Hundredths. */
  readonly price?: number;
  readonly wildcardPrice?: number;
  readonly termDays?: number | 'none';
}

/** Ten years, leap days included. */
const maxTermDays = 3_653;

/** Hundredths. A charge for a hundred names and many terms does not overflow. */
const maxPriceCents = 1_000_000;

export function productCommands(withDatabase: WithDatabase): Command {
  const product = new Command('product').description(
    'products that can be ordered; changes take effect within 5 seconds',
  );
  product
    .command('list')
    .description('list the products with all their rules')
    .action(async () => {
      await withDatabase(async (database) => {
        const products = await database.getRepository(ProductEntity).find({ order: { name: 'ASC' } });
        for (const row of products) console.log(JSON.stringify(row));
      });
    });
  product
    .command('set <name>')
    .description('change rules of a product; existing certificates are unchanged')
    .option('--available <true|false>', 'whether it can be ordered and issued', boolean)
    .option('--lifetime-days <days>', 'lifetime of a certificate, 1 to 397', integer(1, 397))
    .option('--max-dns-names <count>', 'names per order, 1 to 100', integer(1, 100))
    .option(
      '--csr-names-every-dns-name <true|false>',
      'whether CSRs must contain exactly the DNS names; ACME CAs require it',
      boolean,
    )
    .option(
      '--subject-common-name <true|false>',
      'whether the first name is also the common name of the subject',
      boolean,
    )
    .option('--email-approval <true|false>', 'whether names may be approved by email', boolean)
    .option(
      '--authorities <name[:profile],…>',
      'CAs in order of preference, each with an optional profile; empty: only the built-in CA',
      authorities,
    )
    .option('--http-approval <true|false>', 'whether names may be approved by a web server rule', boolean)
    .option(
      '--rsa-sizes <bits,…>',
      `accepted RSA key sizes: ${rsaKeySizes.join(', ')}; empty: none`,
      (text) => someOf(text, rsaKeySizes.map(String)).map(Number),
    )
    .option('--curves <curve,…>', `accepted ECDSA curves: ${curveNames.join(', ')}; empty: none`, (text) =>
      someOf(text, curveNames),
    )
    .option(
      '--term-days <days>',
      `days that one purchase covers, 1 to ${maxTermDays}; none: the product has no term`,
      termDays,
    )
    .option('--price <amount>', 'price per term and name, such as 12.34', price)
    .option('--wildcard-price <amount>', 'price per term and wildcard name', price)
    .option('--currency <code>', 'ISO 4217, such as USD', currency)
    .action(async (name: string, { price, wildcardPrice, termDays, ...rules }: Options) => {
      const change: Change = {
        ...rules,
        ...(termDays === undefined ? {} : { termDays: termDays === 'none' ? null : termDays }),
        ...(price === undefined ? {} : { priceCents: price }),
        ...(wildcardPrice === undefined ? {} : { wildcardPriceCents: wildcardPrice }),
      };
      if (Object.keys(change).length === 0) throw new Error('Nothing to change: see `product set --help`.');
      await withDatabase(async (database) => {
        const changed = await check(database, name, change);
        await database.getRepository(ProductEntity).update({ name }, change);
        // Issuances that wait for a CA that is down may now have another one.
        if (change.authorities !== undefined) await new WaitingIssuances(database).reconsider();
        console.log(`product ${name}: ${JSON.stringify(change)}`);
        if (changed.authorities.length > 0 && !changed.csrNamesEveryDnsName) console.log(incompleteCsrs);
      });
    });
  return product;
}

/** RFC 8555, section 7.4: the CSR must indicate the same identifiers as the order. */
const incompleteCsrs =
  'warning: ACME CAs reject CSRs that do not contain every DNS name, after the names were approved; ' +
  '"--csr-names-every-dns-name true" refuses such CSRs when they are sent';

/** @returns the changed product @throws Error when the product or one of the CAs does not exist, or no kind of key would be accepted */
async function check(database: DataSource, name: string, change: Change): Promise<ProductEntity> {
  const product = await database.getRepository(ProductEntity).findOneBy({ name });
  if (product === null) throw new Error(`There is no product ${name}.`);
  const changed = { ...product, ...change };
  const { rsaSizes, curves } = changed;
  if (rsaSizes.length + curves.length === 0)
    throw new Error('A product must accept RSA keys, ECDSA keys, or both.');
  if (change.authorities === undefined) return changed;
  const known = new Set(
    (await database.getRepository(CertificateAuthorityEntity).find()).map((row) => row.name),
  );
  const unknown = change.authorities.map((authority) => authority.name).filter((each) => !known.has(each));
  if (unknown.length === 0) return changed;
  const existing = [...known].sort().join(', ') || 'none (see `authority add`)';
  throw new Error(`There is no authority ${unknown.join(', ')}. Existing ones: ${existing}.`);
}

/** `letsencrypt:classic,other` */
function authorities(text: string): ProductAuthority[] {
  const listed = listOf(text).map((entry) => {
    const [, name = '', profile = null] = /^([a-z0-9-]+)(?::([A-Za-z0-9._-]+))?$/.exec(entry) ?? [];
    if (name === '') throw new InvalidArgumentError('Expected name or name:profile, separated by commas.');
    return { name, profile };
  });
  if (new Set(listed.map(({ name }) => name)).size < listed.length)
    throw new InvalidArgumentError('Name each authority only once.');
  return listed;
}

/** In the order of `all`. */
function someOf(text: string, all: readonly string[]): string[] {
  const wanted = listOf(text);
  if (!wanted.every((each) => all.includes(each)))
    throw new InvalidArgumentError(`Expected any of ${all.join(', ')}, separated by commas.`);
  return all.filter((each) => wanted.includes(each));
}

const listOf = (text: string): string[] => (text === '' ? [] : text.split(',').map((each) => each.trim()));

/** Not null for none: Commander treats null as a missing value. */
const termDays = (text: string): number | 'none' => (text === 'none' ? text : integer(1, maxTermDays)(text));

function price(text: string): number {
  const cents = unsignedAmount(text);
  if (cents > maxPriceCents) throw new InvalidArgumentError(`Expected at most ${decimalOf(maxPriceCents)}.`);
  return cents;
}
