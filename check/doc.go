// Package check has types for fields whose values follow a rule, and the rules themselves for types of your own.
//
//	type Device struct {
//		_ entity.Key `name:"Device" table:"devices" pk:"hardware_id"`
//
//		HardwareID   check.MAC         `dynamodbav:"hardware_id"`
//		Confirmation check.UUID4       `dynamodbav:"confirmation_id" entity:"set_once"`
//		Firmware     Firmware          `dynamodbav:"firmware_version" entity:"required"`
//		Status       map[string]Health `dynamodbav:"status"`
//	}
//
//	type Firmware string
//
//	func (f Firmware) Validate() error {
//		return errors.Join(check.Characters(f, 1, 32), check.Printable(f))
//	}
//
//	type Health string
//
//	func (h Health) Validate() error { return check.OneOf(h, "ok", "error") }
//
// Every write asks each value whose type has a method `Validate() error`, before any request: fields, what changes
// like entity.Set write, and the elements, keys and fields inside them. What is not written is not asked: a nil pointer,
// and an empty value of a field with omitempty. All refusals of a call come joined, each as an *entity.ValidationError
// that says where the value is, with the *[Error] of this package behind it.
//
// A value is refused or stored as it is; nothing here changes one. Errors never contain the value.
package check
