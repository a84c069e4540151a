export { BillingModule } from './billing.module';
export { type Balance, Balances } from './balances';
export { type Booking, bookingText, Ledger, type LedgerEntry } from './ledger';
export { type PaidColumns, paidColumns, paidOf, setPaid, storedBefore } from './paid';
export { pay } from './payment';
export { carryOver, charge, giveBack } from './settlement';
export { type UnusedRow, unusedCharge, unusedChargesOf } from './unused';
