// A front end at / that reads the mock's address and key from its own address.
it("shows its domains, and says when the service is busy", () => {
  cy.mockAccount().then((account) => {
    account.reset({ records: { domains: [{ host: "go.example.com" }] } });
    cy.visit(`/?mock=${account.baseUrl}&key=${account.key}`);
    cy.contains("go.example.com");
    account.force({ status: 503, headers: { "Retry-After": "1" } });
    cy.reload();
    cy.contains("try again");
    account.journal({ status: 503 }).should("have.length", 1);
  });
});
