import "link-management-mock/cypress";
