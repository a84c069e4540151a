/**
 * The commands of the operator in one program, for the image `tools`: the first argument is the command.
 * In a checkout, `npm run <command>` runs each by itself.
 */
const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  admin: async () => await import('./admin/main.js'),
  audit: async () => await import('./audit/main.js'),
  'gateway-keys': async () => await import('./gateway-keys/main.js'),
  migrate: async () => await import('./migrate/main.js'),
  setup: async () => await import('./setup/main.js'),
};

const [name = '--help'] = process.argv.splice(2, 1);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  const isHelp = name === '--help' || name === 'help';
  const usage = `Commands: ${Object.keys(commands).join(', ')}. Each has its own --help.\n`;
  process[isHelp ? 'stdout' : 'stderr'].write(isHelp ? usage : `There is no command "${name}". ${usage}`);
  process.exit(isHelp ? 0 : 2);
}
void command();
