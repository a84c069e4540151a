/** The approval method of a name by which the mailbox of `approval` counts, as in approvals and terms. */
const way = `jsonb_build_object('method', 'email', 'approverEmail', approval.address)`;

/** Whether an open issuance requires the mailbox of `approval`. @param issuance its alias */
export const requiresMailbox = (issuance: string) => `
  ${issuance}.plan_id = approval.plan_id AND ${issuance}.state = 'open'
  AND ${issuance}.approvals @> jsonb_build_array(jsonb_build_object('dnsName', approval.dns_name, 'way', ${way}))`;

/**
 * Whether an address must (still) approve a name: the open issuance requires it, whatever the terms are by now; or
 * the current order does, or for a plan without one its terms: by the method of the name, or if none is set by the
 * address for it. A condition over `approval` (email_approval), `order_v3` and `terms`; null: no.
 */
export const wantedApproval = `(
  approval.dns_name = ANY (coalesce(order_v3.dns_names, terms.dns_names))
    AND CASE WHEN order_v3.plan_id IS NULL AND terms.approval_ways ? approval.dns_name
      THEN terms.approval_ways -> approval.dns_name @> ${way}
      ELSE coalesce(order_v3.approver_emails, terms.approver_emails) ->> approval.dns_name = approval.address END
  OR EXISTS (SELECT 1 FROM issuance AS requiring WHERE ${requiresMailbox('requiring')}))`;
