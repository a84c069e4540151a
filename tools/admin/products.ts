import { ProductEntity } from '@certwright/persistence';
import { Command, InvalidArgumentError } from 'commander';
import type { WithDatabase } from './with-database';

type Change = Partial<Omit<ProductEntity, 'name'>>;

export function productCommands(withDatabase: WithDatabase): Command {
  const product = new Command('product').description(
    'what can be ordered; running processes follow within 5 seconds',
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
    .description('change rules of a product; what exists already keeps what it was issued with')
    .option('--available <true|false>', 'whether it can be ordered and issued', boolean)
    .option('--lifetime-days <days>', 'lifetime of a certificate, 1 to 397', integer)
    .option('--max-dns-names <count>', 'names per order, 1 to 100', integer)
    .option(
      '--subject-common-name <true|false>',
      'whether the first name also stands in the subject',
      boolean,
    )
    .option('--email-approval <true|false>', 'whether names may be approved by email', boolean)
    .action(async (name: string, change: Change) => {
      if (Object.keys(change).length === 0) throw new Error('Nothing to change: see `product set --help`.');
      await withDatabase(async (database) => {
        const { affected } = await database.getRepository(ProductEntity).update({ name }, change);
        if (affected === 0) throw new Error(`There is no product ${name}.`);
        console.log(`product ${name}: ${JSON.stringify(change)}`);
      });
    });
  return product;
}

function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('true or false is expected.');
  return text === 'true';
}

function integer(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}
