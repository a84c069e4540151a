// Specs run in the realm of Jest's worker, as the programs do in theirs: `instanceof Error` holds for errors of Node and of packages,
// and packages can be loaded once per worker (jest-runtime.cjs). What a spec changes in the process is put back after it.
const vm = require('node:vm');
const { LegacyFakeTimers, ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Represents the worker's own realm: Jest insists on a context, and Node has none for the realm that it starts in. */
const workersRealm = vm.createContext({});
const compileInContext = vm.compileFunction;
vm.compileFunction = (source, parameters, options) =>
  compileInContext(
    source,
    parameters,
    options?.parsingContext === workersRealm ? { ...options, parsingContext: undefined } : options,
  );

/** What classes register with packages by decorators. Every spec file has classes of its own, so these lists would only grow. */
const registries = ['typeormMetadataArgsStorage', 'classValidatorMetadataStorage'];

module.exports = class WorkersRealm {
  global = globalThis;

  constructor({ projectConfig: config }) {
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config, global: globalThis });
    this.fakeTimers = new LegacyFakeTimers({
      config,
      global: globalThis,
      moduleMocker: this.moduleMocker,
      timerConfig: { idToRef: (timer) => timer, refToId: (timer) => timer },
    });
    this.settings = { ...process.env };
    this.listeners = new Set(listenersOfProcess().map(({ listener }) => listener));
  }

  async setup() {}

  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    for (const registry of registries) delete globalThis[registry];
    for (const name of Object.keys(process.env)) if (!(name in this.settings)) delete process.env[name];
    Object.assign(process.env, this.settings);
    for (const { event, listener } of listenersOfProcess()) {
      if (!this.listeners.has(listener)) process.removeListener(event, listener);
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return workersRealm;
  }
};

function listenersOfProcess() {
  return process
    .eventNames()
    .flatMap((event) => process.listeners(event).map((listener) => ({ event, listener })));
}
