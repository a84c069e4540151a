import type {
  V1Container,
  V1LabelSelector,
  V1NetworkPolicyPort,
  V1PodSpec,
  V1Volume,
} from '@kubernetes/client-node';
import { settingsOf } from './settings';

type Labels = Readonly<Record<string, string>>;

interface Peer {
  readonly ipBlock?: object;
  readonly namespaceSelector?: V1LabelSelector;
  readonly podSelector?: V1LabelSelector;
}

interface Rule {
  readonly ports?: readonly V1NetworkPolicyPort[];
  readonly to?: readonly Peer[];
  readonly from?: readonly Peer[];
}

/** Members of the specs of all kinds that are read here. */
interface Spec {
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: V1PodSpec };
  readonly podSelector: V1LabelSelector;
  readonly policyTypes: readonly string[];
  readonly egress?: readonly Rule[];
  readonly ingress?: readonly Rule[];
  readonly selector: { readonly matchLabels: Labels };
  readonly maxUnavailable?: number;
  readonly minAvailable?: number;
}

/** A rendered object; the compiler checks its type elsewhere (strict-types.mjs). */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: Spec;
  readonly data?: Readonly<Record<string, string>>;
}

const nameLabel = 'app.kubernetes.io/name';
/** Set by the Dockerfile of the images, ms. */
const imageDefaults = { SHUTDOWN_DELAY: 5_000 };
/** Between the end of DRAIN_TIME and exit, ms. */
const exitMs = 5_000;
const secretsFolder = '/run/secrets/certwright/';

export interface Process {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: V1PodSpec;
  readonly container: V1Container;
  /** Its environment, from its ConfigMap and its own variables. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Every Deployment, StatefulSet and Job. */
export function processesIn(manifests: readonly Manifest[]): Process[] {
  return manifests
    .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
    .map(({ metadata, spec }) => {
      const pod = spec.template.spec;
      const [container] = pod.containers;
      if (container === undefined) throw new Error(`${metadata.name} has no container`);
      const own = (container.env ?? []).map((each) => [each.name, each.value ?? metadata.name]);
      return {
        name: metadata.name,
        namespace: metadata.namespace ?? '',
        labels: spec.template.metadata.labels,
        pod,
        container,
        environment: { ...configMapOf(manifests, container), ...Object.fromEntries(own) },
      };
    });
}

function configMapOf(
  manifests: readonly Manifest[],
  container: V1Container,
): Readonly<Record<string, string>> {
  const names = (container.envFrom ?? []).map((each) => each.configMapRef?.name);
  const maps = manifests.filter(
    ({ kind, metadata }) => kind === 'ConfigMap' && names.includes(metadata.name),
  );
  return Object.assign({}, ...maps.map(({ data }) => data));
}

/** @returns errors of the settings that processes get: unknown ones, secrets in the clear, and what `config()` refuses */
export function settingErrors(
  manifests: readonly Manifest[],
  /** Puts valid secrets into files, and returns the environment with their paths. */
  withSecretFiles: (environment: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
): string[] {
  return processesIn(manifests).flatMap(({ name, environment }) => {
    const app = settingsOf[name];
    if (app === undefined) return [];
    const errors = Object.keys(environment).flatMap((variable) => {
      const setting = app.table[variable] ?? app.table[variable.replace(/_FILE$/, '')];
      if (setting === undefined) return [`${name}: no setting ${variable}`];
      // Every URL may contain a password.
      const isSecret = setting.secret && !/^\w+:\/\/[^@]*$/.test(environment[variable] ?? '');
      return isSecret && !variable.endsWith('_FILE')
        ? [`${name}: ${variable} is a secret and not in a file`]
        : [];
    });
    const before = process.env;
    process.env = { ...withSecretFiles(environment) };
    try {
      app.config();
    } catch (error) {
      errors.push(`${name}: ${(error as Error).message}`);
    } finally {
      process.env = before;
    }
    return errors;
  });
}

/** @returns errors of ports and probes: ports that the process does not listen on, routes that it does not have */
export function probeErrors(manifests: readonly Manifest[], routes: readonly string[]): string[] {
  return processesIn(manifests).flatMap(({ name, container }) => {
    const app = settingsOf[name];
    if (app === undefined) return [];
    const portOf = (port: string) => container.ports?.find((each) => each.name === port)?.containerPort;
    const errors: string[] = [];
    if (portOf('ops') !== app.table['OPS_PORT']?.default) errors.push(`${name}: port ops`);
    const http = portOf('http') ?? portOf('https');
    if (http !== app.table['PORT']?.default) errors.push(`${name}: port http`);
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
      const { path, port } = container[probe]?.httpGet ?? {};
      if (port !== 'ops' || path === undefined || !routes.includes(path))
        errors.push(`${name}: ${probe} requests ${path} on ${port}`);
    }
    return errors;
  });
}

/** @returns errors by the Pod Security Standard "restricted", and by what is more than it requires here */
export function securityErrors(manifests: readonly Manifest[]): string[] {
  return processesIn(manifests).flatMap(({ name, pod, container }) => {
    const { securityContext: ofPod } = pod;
    const { securityContext: own } = container;
    const rules: readonly [string, boolean][] = [
      ['runs as 10001', ofPod?.runAsNonRoot === true && ofPod?.runAsUser === 10_001],
      ['has the seccomp profile of the runtime', ofPod?.seccompProfile?.type === 'RuntimeDefault'],
      ['cannot gain privileges', own?.allowPrivilegeEscalation === false],
      ['has no capabilities', own?.capabilities?.drop?.[0] === 'ALL' && own?.capabilities?.add === undefined],
      ['has a read-only root', own?.readOnlyRootFilesystem === true],
      ['has no token of the Kubernetes API', pod.automountServiceAccountToken === false],
      [
        'has requests and a limit',
        'memory' in (container.resources?.limits ?? {}) && 'cpu' in (container.resources?.requests ?? {}),
      ],
      [
        'shares nothing with its node',
        pod.hostNetwork !== true && pod.hostPID !== true && pod.hostIPC !== true,
      ],
      ['has one container', pod.containers.length === 1 && pod.initContainers === undefined],
    ];
    return rules.filter(([, holds]) => !holds).map(([rule]) => `${name}: not so: ${rule}`);
  });
}

/** Secrets of the jobs; a process mounts that of its own name. */
const secretsOfJobs: Readonly<Record<string, readonly string[]>> = {
  migrate: ['migrate', 'role-passwords'],
  // It seals the key that the worker opens.
  'built-in-ca': ['migrate', 'issuance-worker'],
};

/** @returns errors of secrets: mounted by another process, or readable by others than the process */
export function secretErrors(manifests: readonly Manifest[]): string[] {
  return processesIn(manifests).flatMap(({ name, pod }) => {
    const secrets = (pod.volumes ?? []).flatMap(({ secret }: V1Volume) => secret ?? []);
    const own = secretsOfJobs[name] ?? [name];
    return secrets.flatMap(({ secretName = '', defaultMode }) => [
      ...(own.includes(secretName) ? [] : [`${name}: mounts the secret ${secretName}`]),
      ...(defaultMode === 0o440 ? [] : [`${name}: mode of ${secretName}`]),
    ]);
  });
}

/** @returns errors of stopping: a grace period that ends before the process, a budget that blocks a drain */
export function stopErrors(manifests: readonly Manifest[]): string[] {
  const errors = processesIn(manifests).flatMap(({ name, pod, environment }) => {
    const table = settingsOf[name]?.table;
    if (table === undefined) return [];
    const drainMs = Number(table['DRAIN_TIME']?.default);
    const delayMs = table['SHUTDOWN_DELAY'] === undefined ? 0 : imageDefaults.SHUTDOWN_DELAY;
    if ('DRAIN_TIME' in environment || 'SHUTDOWN_DELAY' in environment)
      return [`${name}: DRAIN_TIME and SHUTDOWN_DELAY are those of the image here`];
    return (pod.terminationGracePeriodSeconds ?? 30) * 1_000 > delayMs + drainMs + exitMs
      ? []
      : [`${name}: grace period`];
  });
  const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
  const blocking = budgets.filter(
    ({ spec }) => !((spec.maxUnavailable ?? 0) >= 1) || spec.minAvailable !== undefined,
  );
  const withBudget = new Set(budgets.map(({ spec }) => spec.selector.matchLabels[nameLabel]));
  const without = Object.keys(settingsOf).filter((app) => !withBudget.has(app));
  return [
    ...errors,
    ...blocking.map(({ metadata }) => `${metadata.name}: the budget can block a drain`),
    ...without.map((app) => `${app}: no disruption budget`),
  ];
}

/** Who connects to whom, as `process → peer`, sorted. */
export interface Connections {
  readonly to: readonly string[];
  readonly from: readonly string[];
}

const stores: Readonly<Record<string, string>> = { core: 'core', ct: 'ct', redis: 'Redis' };

/**
 * What the NetworkPolicies allow a process. Peers are processes, `core`, `ct`, `Redis`, `Internet`, `anyone` and
 * `proxies`. Names of the cluster's DNS and of Prometheus are left out: every process may look up names and be scraped.
 */
export function connectionsOf(manifests: readonly Manifest[], process: Process): Connections {
  const policies = manifests.filter(
    ({ kind, metadata, spec }) =>
      kind === 'NetworkPolicy' &&
      metadata.namespace === process.namespace &&
      selects(spec.podSelector, process.labels),
  );
  const peers = (direction: 'egress' | 'ingress', ends: 'to' | 'from') => {
    const rules = policies.flatMap(({ spec }) => spec[direction] ?? []);
    const all = rules.flatMap(
      (rule) =>
        rule[ends]?.flatMap((peer) => peerNames(peer, rule.ports ?? [], manifests, process)) ?? ['anyone'],
    );
    return [...new Set(all)].sort();
  };
  return { to: peers('egress', 'to'), from: peers('ingress', 'from') };
}

/** Processes with a policy that denies what no other policy allows. */
export const isDenied = (
  manifests: readonly Manifest[],
  process: Process,
  type: 'Ingress' | 'Egress',
): boolean =>
  manifests.some(
    ({ kind, metadata, spec }) =>
      kind === 'NetworkPolicy' &&
      metadata.namespace === process.namespace &&
      selects(spec.podSelector, process.labels) &&
      spec.policyTypes.includes(type),
  );

function peerNames(
  peer: Peer,
  ports: readonly V1NetworkPolicyPort[],
  manifests: readonly Manifest[],
  from: Process,
): string[] {
  if (peer.ipBlock !== undefined) {
    return ports.map(({ protocol, port, endPort }) =>
      endPort === undefined ? `Internet ${protocol} ${port}` : `Internet any ${protocol}`,
    );
  }
  const { namespaceSelector, podSelector } = peer;
  if (namespaceSelector?.matchLabels?.['certwright/proxies'] === 'true') return ['proxies'];
  if (namespaceSelector?.matchLabels?.['certwright/metrics'] === 'true') return [];
  if (podSelector?.matchLabels?.['k8s-app'] === 'kube-dns') return [];
  const store = podSelector?.matchLabels?.['certwright/store'];
  if (store !== undefined) return [stores[store] ?? store];
  const namespace = namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name'] ?? from.namespace;
  const selected = processesIn(manifests).filter(
    (each) => each.namespace === namespace && selects(podSelector, each.labels),
  );
  return selected.length === 0 ? [`no process (${JSON.stringify(peer)})`] : selected.map(({ name }) => name);
}

function selects(selector: V1LabelSelector | undefined, labels: Labels): boolean {
  const equal = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  const among = (selector?.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    if (operator !== 'In') throw new Error(`operator ${operator} of a selector is not known here`);
    return values.includes(labels[key] ?? '');
  });
  return equal && among;
}

/** The name of a secret file below the folder of secrets; null: the variable names another file. */
export const secretFileName = (value: string): string | null =>
  value.startsWith(secretsFolder) ? value.slice(secretsFolder.length) : null;
