export { type AttachedCertificate, attachOpen, attachedCertificate, validity } from './attached-certificate';
export { brokenRules } from './books';
export { CoreDatabaseFixture } from './core-database';
export { FailingDatabase } from './failing-database';
export { type IntegrationFixture, integrationFixture } from './integrations';
export { issueOpen, manyPlans } from './many-plans';
export { type PlanWithWays, byDns, byEmail, byHttp, planWithWays, sayOtherwise } from './plan-with-ways';
export { PurchaseFixture, nothingPaid, prices, purchasesOver } from './purchase-fixture';
export { WebhookFixture } from './webhooks';
