import type { DeliveryBounds } from '@certwright/persistence';

/**
 * How much may be under way at the same time. An endpoint that fails gets one place until it succeeds again: what it
 * cannot take, it need not be asked for four times at once.
 */
export const deliveryBounds: DeliveryBounds = { perEndpoint: 4, perFailingEndpoint: 1, perAccount: 16 };
