//! What pytest does with names: fixtures, and who asks for them.

use ruff_python_ast::{self as ast, Decorator, StmtFunctionDef};

use super::super::sketch::{Fixture, ScopeId};
use super::super::tests_of::is_test_name;
use super::Reader;
use super::lower::last;

impl<'a> Reader<'a> {
    /// Note whether a function is a fixture, and what it and tests ask for.
    pub(super) fn given_by_pytest(&mut self, scope: ScopeId, function: &'a StmtFunctionDef) {
        let mut is_fixture = false;
        for decorator in &function.decorator_list {
            if !last(&decorator.expression).is_some_and(|name| name.ends_with("fixture")) {
                continue;
            }
            is_fixture = true;
            let call = decorator.expression.as_call_expr();
            let keyword = |name: &str| {
                let arguments = &call?.arguments;
                arguments.find_keyword(name).map(|keyword| &keyword.value)
            };
            let text = keyword("name").and_then(|value| value.as_string_literal_expr());
            let name = text.map_or(function.name.as_str(), |text| text.value.to_str());
            let autouse = keyword("autouse").is_some_and(|value| match value {
                ast::Expr::BooleanLiteral(literal) => literal.value,
                _ => true,
            });
            let name = self.name(name);
            self.fixtures.push(Fixture {
                scope,
                name,
                autouse,
            });
        }
        if is_fixture || is_test_name(&function.name) {
            for parameter in &*function.parameters {
                let name = self.name(parameter.name());
                self.asked.push((scope, name));
            }
        }
        self.asked_by_marks(scope, &function.decorator_list);
    }

    /// `@pytest.mark.usefixtures("name")`.
    pub(super) fn asked_by_marks(&mut self, scope: ScopeId, decorators: &'a [Decorator]) {
        for decorator in decorators {
            if let ast::Expr::Call(call) = &decorator.expression
                && last(&call.func) == Some("usefixtures")
            {
                self.asked_by_words(scope, &call.arguments);
            }
        }
    }

    /// Note fixtures that are named by strings.
    pub(super) fn asked_by_words(&mut self, scope: ScopeId, arguments: &ast::Arguments) {
        for argument in &*arguments.args {
            if let ast::Expr::StringLiteral(text) = argument {
                let name = self.name(text.value.to_str());
                self.asked.push((scope, name));
            }
        }
    }
}
